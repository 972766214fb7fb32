//! The parsed configuration as one line of JSON, byte for byte as CoreDNS encodes it. The configuration hash, logged at the
//! start and compared by `reload`, is its SHA-512.

use crate::block::ServerBlock;
use crate::json::push_string;
use crate::token::Token;

/// `[{"Keys":[...],"Tokens":{"name":[{"File":"","Line":1,"Text":"..."}]}}]`, names sorted; `null` for no blocks.
pub fn canonical_json(blocks: &[ServerBlock]) -> String {
    if blocks.is_empty() {
        return "null".to_string();
    }
    let mut out = String::new();
    list(&mut out, blocks, push_block);
    out
}

fn list<T>(out: &mut String, items: &[T], push: impl Fn(&mut String, &T)) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push(out, item);
    }
    out.push(']');
}

fn push_block(out: &mut String, block: &ServerBlock) {
    out.push_str("{\"Keys\":");
    list(out, &block.keys, |out, key| push_string(out, &key.text));
    out.push_str(",\"Tokens\":{");
    let mut directives: Vec<_> = block.directives.iter().collect();
    directives.sort_by(|a, b| a.name.cmp(&b.name));
    for (at, directive) in directives.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(out, &directive.name);
        out.push(':');
        list(out, &directive.tokens, push_token);
    }
    out.push_str("}}");
}

fn push_token(out: &mut String, token: &Token) {
    out.push_str("{\"File\":");
    push_string(out, token.span.file.hashed_name());
    out.push_str(&format!(",\"Line\":{},\"Text\":", token.line()));
    push_string(out, &token.text);
    out.push('}');
}
