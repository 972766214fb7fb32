//! The fuzz targets, one file each.

pub mod corefile;
pub mod packet;
pub mod proxy;
pub mod reply;
pub mod transfer_reply;
pub mod zone_text;

/// Panics when the code under test violates a property.
pub type Check = fn(&[u8]);

/// All targets; the name is also that of the binary, the folder in `corpus/` and the dictionary.
pub const ALL: [(&str, Check); 6] = [
    ("corefile", corefile::check),
    ("packet", packet::check),
    ("proxy", proxy::check),
    ("reply", reply::check),
    ("transfer_reply", transfer_reply::check),
    ("zone_text", zone_text::check),
];
