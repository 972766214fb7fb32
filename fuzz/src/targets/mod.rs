//! The fuzz targets, one file each.

pub mod corefile;
pub mod packet;
pub mod proxy;
pub mod reply;

/// Panics when the code under test breaks a promise.
pub type Check = fn(&[u8]);

/// Each target by the name of its binary, of its folder in `corpus/` and of its dictionary.
pub const ALL: [(&str, Check); 4] = [
    ("corefile", corefile::check),
    ("packet", packet::check),
    ("proxy", proxy::check),
    ("reply", reply::check),
];
