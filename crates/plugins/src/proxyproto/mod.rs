//! `proxyproto`: takes client addresses from PROXY protocol headers.
//!
//! The server parses the headers (`server/src/listen/proxy_protocol`); this plugin configures whose headers are used. It is in the
//! chain only to offer the headers' TLVs as metadata.

mod setup;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use server::proxy_protocol::header::{Tlv, next_tlv};
use server::{Hooks, Metadata, MetadataView, Plugin};

pub(crate) use setup::setup;

const LABEL: &str = "proxyproto/tlv";
/// PP2_TYPE_NOOP, padding, whose value is left out.
const PADDING: u8 = 4;

struct ProxyProto;

impl Plugin for ProxyProto {
    fn name(&self) -> &'static str {
        "proxyproto"
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }
}

impl Metadata for ProxyProto {
    fn value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        if label != LABEL || view.proxy_tlvs().is_empty() {
            return None;
        }
        Some(hexadecimal(view.proxy_tlvs()))
    }
}

/// The TLVs as received, two digits per octet, with padding emptied.
fn hexadecimal(mut tlvs: &[u8]) -> String {
    let mut text = String::with_capacity(2 * tlvs.len());
    while let Some(Tlv { kind, value, rest }) = next_tlv(tlvs) {
        let value = if kind == PADDING { &[] } else { value };
        let _ = write!(text, "{kind:02x}{:04x}", value.len());
        for octet in value {
            let _ = write!(text, "{octet:02x}");
        }
        tlvs = rest;
    }
    text
}
