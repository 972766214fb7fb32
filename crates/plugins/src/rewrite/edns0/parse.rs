//! Parses `edns0` rules.

use golang::quoted;
use wire::option;

use super::{Action, Data, Edns0, Variable};
use crate::rewrite::name::is_label;

impl Edns0 {
    pub fn parse(args: &[String]) -> Result<Edns0, String> {
        let [kind, action, rest @ ..] = args else {
            return Err("too few arguments for an EDNS0 rule".into());
        };
        let (kind, word) = (kind.to_lowercase(), action.to_lowercase());
        let action = match word.as_str() {
            "set" => Action::Set,
            "append" => Action::Append,
            "replace" => Action::Replace,
            "unset" => return unset(&kind, rest),
            _ => return Err(format!("invalid action: {}", quoted(&word))),
        };
        let (rest, revert) = match rest {
            [rest @ .., last] if last == "revert" => (rest, true),
            _ => (rest, false),
        };
        let (code, data) = match (kind.as_str(), rest) {
            ("local", [code, data]) => local(code, data)?,
            ("local", _) => return Err("EDNS0 local rules require three or four args".into()),
            ("nsid", []) => (option::NSID, Data::Nsid),
            ("nsid", _) => return Err("EDNS0 NSID rules can accept no more than one arg".into()),
            ("subnet", [v4, v6]) => {
                let (v4, v6) = (bits("IPv4", v4, 32)?, bits("IPv6", v6, 128)?);
                (option::SUBNET, Data::Subnet(v4, v6))
            }
            ("subnet", _) => return Err("EDNS0 subnet rules require three or four args".into()),
            _ => return Err(format!("invalid rule type {}", quoted(&kind))),
        };
        Ok(Edns0 { action, code, data, revert })
    }
}

fn unset(kind: &str, rest: &[String]) -> Result<Edns0, String> {
    let (code, data) = match (kind, rest) {
        ("local", [code]) => (number(code)?, Data::Fixed(Vec::new())),
        ("local", _) => return Err("local unset action requires exactly two arguments".into()),
        ("nsid", []) => (option::NSID, Data::Nsid),
        ("nsid", _) => return Err("nsid unset action requires exactly one argument".into()),
        ("subnet", []) => (option::SUBNET, Data::Subnet(0, 0)),
        ("subnet", _) => return Err("subnet unset action requires exactly one argument".into()),
        _ => return Err(format!("invalid rule type {}", quoted(kind))),
    };
    Ok(Edns0 { action: Action::Unset, code, data, revert: false })
}

fn local(code: &str, data: &str) -> Result<(u16, Data), String> {
    let code = number(code)?;
    let inside = data.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    if inside.is_some() || data == "{" {
        let unknown = || format!("unsupported variable name {}", quoted(data));
        return inside.and_then(variable).map(|found| (code, Data::Variable(found))).ok_or_else(unknown);
    }
    let data = match data.strip_prefix("0x") {
        Some(hex) => unhex(hex)?,
        None => data.as_bytes().to_vec(),
    };
    Ok((code, Data::Fixed(data)))
}

fn variable(name: &str) -> Option<Variable> {
    Some(match name {
        "qname" => Variable::Qname,
        "qtype" => Variable::Qtype,
        "client_ip" => Variable::ClientIp,
        "client_port" => Variable::ClientPort,
        "protocol" => Variable::Protocol,
        "server_ip" => Variable::ServerIp,
        "server_port" => Variable::ServerPort,
        label if is_label(label) => Variable::Label(label.to_owned()),
        _ => return None,
    })
}

fn bits(family: &str, text: &str, most: u8) -> Result<u8, String> {
    let given = number(text)?;
    u8::try_from(given)
        .ok()
        .filter(|bits| *bits <= most)
        .ok_or_else(|| format!("invalid {family} bit mask length {given}"))
}

/// A number of 16 bits in any of Go's notations: 65518, 0xffee, 0b1, 0o17, 017, 0xff_ee.
fn number(text: &str) -> Result<u16, String> {
    let failed = |why| format!("strconv.ParseUint: parsing {}: {why}", quoted(text));
    let lower = text.to_ascii_lowercase();
    let (digits, base) = if let Some(digits) = lower.strip_prefix("0x") {
        (digits, 16)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (digits, 2)
    } else if let Some(digits) = lower.strip_prefix("0o") {
        (digits, 8)
    } else if let Some(digits) = lower.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        (digits, 8)
    } else {
        (lower.as_str(), 10)
    };
    // A single underscore is allowed between digits and after the prefix.
    let spaced = digits.ends_with('_') || digits.contains("__") || (base == 10 && digits.starts_with('_'));
    let plain = digits.replace('_', "");
    if spaced || plain.is_empty() || !plain.chars().all(|c| c.is_digit(base)) {
        return Err(failed("invalid syntax"));
    }
    u16::from_str_radix(&plain, base).map_err(|_| failed("value out of range"))
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let wrong = |c: char| format!("encoding/hex: invalid byte: U+{:04X} '{c}'", u32::from(c));
    let mut digits = Vec::with_capacity(text.len());
    for c in text.chars() {
        digits.push(c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()).ok_or_else(|| wrong(c))?);
    }
    if digits.len() % 2 == 1 {
        return Err("encoding/hex: odd length hex string".into());
    }
    Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
