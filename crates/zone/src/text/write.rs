//! Zones as zone files.

use std::fmt::{self, Write};

use wire::{Name, NameBuf, present_data};

use crate::contents::Contents;

/// Writes a zone: `$ORIGIN`, then one record a line, the SOA first.
pub fn write_zone(contents: &Contents, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "$ORIGIN {}", contents.origin())?;
    let mut written = Ok(());
    contents.for_each(|record| {
        let owner = relative(record.owner, contents.origin());
        let (class, rtype) = (record.class, record.rtype.zone_name());
        let data = present_data(record.rtype, record.data);
        if written.is_ok() {
            written = writeln!(out, "{owner:<23} {:>6} {class} {rtype:<6} {data}", record.ttl);
        }
    });
    written
}

/// An owner relative to the origin.
fn relative(owner: Name<'_>, origin: Name<'_>) -> String {
    let labels = owner.offset_of(origin).and_then(|len| owner.wire().get(..len)).unwrap_or_default();
    if labels.is_empty() {
        return "@".into();
    }
    let mut name = NameBuf::root();
    let text = match name.read(&[labels, &[0]].concat(), 0) {
        Ok(_) => name.to_string(),
        Err(_) => return owner.to_string(),
    };
    let text = text.strip_suffix('.').unwrap_or(&text);
    // A line that begins with a dollar is a directive.
    if text.starts_with('$') { format!("\\{text}") } else { text.to_owned() }
}
