//! Files of this host that plugins read: polled files, `resolv.conf`, the host name.

pub(crate) mod hostname;
pub(crate) mod polled_file;
pub(crate) mod resolv_conf;
