//! `chaos [VERSION] [AUTHORS...]`

use std::collections::BTreeSet;

use corefile::Diagnostic;
use server::Setup;

use super::Chaos;
use crate::host_files::hostname::hostname;

const VERSION: &str = concat!("Rhumb-", env!("CARGO_PKG_VERSION"));
const AUTHORS: &str = "The Rhumb authors";

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let c = &mut s.c;
    // Only the first line counts, as in CoreDNS.
    c.next();
    let args = c.remaining_args();
    if c.next_block() {
        return Err(c.unknown_property(&[]));
    }
    let (version, authors) = match args[..] {
        [] => (VERSION, &[][..]),
        [version, ref authors @ ..] => (version, authors),
    };
    let authors = match authors {
        [] => vec![text(AUTHORS)],
        // Without duplicates.
        named => named.iter().collect::<BTreeSet<_>>().into_iter().map(|author| text(author)).collect(),
    };
    s.settings().any_class = true;
    s.add(Chaos { version: text(version), authors, hostname: text(&hostname()) });
    Ok(())
}

/// A character string: cut to 255 octets, then `\DDD` and `\X` resolved as in zone files.
fn text(text: &str) -> Vec<u8> {
    let mut rest = &text.as_bytes()[..text.len().min(255)];
    let mut out = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, rest) {
            (b'\\', [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', after @ ..]) => {
                let number = [a, b, c].iter().fold(0u8, |n, &&d| n.wrapping_mul(10).wrapping_add(d - b'0'));
                out.push(number);
                rest = after;
            }
            (b'\\', [escaped, after @ ..]) => {
                out.push(*escaped);
                rest = after;
            }
            (b'\\', []) => {}
            _ => out.push(byte),
        }
    }
    out
}
