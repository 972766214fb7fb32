//! `geoip DBFILE { edns-subnet }`

use std::fs;
use std::path::Path;
use std::sync::Arc;

use corefile::Diagnostic;
use files::Stamp;
use golang::quoted;
use server::{Metadata, Setup};

use super::GeoIp;
use super::database::Database;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let (mut path, mut edns_subnet) = ("", false);
    while s.c.next() {
        if !s.c.next_arg() {
            return Err(s.c.arg_err());
        }
        if !path.is_empty() {
            return Err(s.c.err("configuring multiple databases is not supported"));
        }
        path = s.c.val();
        if !s.c.remaining_args().is_empty() {
            return Err(s.c.arg_err());
        }
        while s.c.next_block() {
            if s.c.val() != "edns-subnet" {
                return Err(s.c.err(format_args!("unknown property {}", quoted(s.c.val()))));
            }
            edns_subnet = true;
        }
    }
    let database = open(s, Path::new(path)).map_err(|why| s.c.err(why))?;
    let geoip = s.add(GeoIp { database, edns_subnet });
    s.offer::<dyn Metadata>(geoip);
    Ok(())
}

/// All blocks share one copy of a file, and a reload keeps it while the file is unchanged. The path is not relative to
/// `root`, as in CoreDNS.
fn open(s: &mut Setup<'_>, path: &Path) -> Result<Arc<Database>, String> {
    let version = fs::metadata(path).map(|about| Stamp::of(&about));
    let key = format!("{} {:?}", path.display(), version.ok());
    let opened = s.kept(&key, || Database::open(path).map(Arc::new));
    Result::clone(&opened)
}
