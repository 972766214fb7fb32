//! `rcode [KIND] NAME FROM TO`: replaces the response code.

use wire::Rcode;

use super::CurrentQuestion;
use super::matcher::{Kind, Matcher};
use super::revert::Revert;

/// Maximum numeric rcode.
const MAX_RCODE: u32 = 23;

pub(super) struct RcodeRule {
    matcher: Matcher,
    from: Rcode,
    to: Rcode,
}

impl RcodeRule {
    pub fn parse(args: &[String]) -> Result<RcodeRule, String> {
        let (kind, name, from, to) = match args {
            [name, from, to] => (None, name, from.as_str(), to.as_str()),
            [kind, name, from, to] => (Some(kind), name, from.as_str(), to.as_str()),
            [name, _, _, ..] => (None, name, "", ""),
            _ => return Err(format!("too few ({}) arguments for a rcode rule", args.len())),
        };
        let wrong = |what, text| format!("invalid {what} RCODE '{text}' for a rcode rule");
        let from = read(from).ok_or_else(|| wrong("matching", from))?;
        let to = read(to).ok_or_else(|| wrong("replacement", to))?;
        let kind = kind.map_or(Some(Kind::Exact), |word| Kind::read(word)).ok_or_else(|| {
            "rcode rule supports only exact, prefix, suffix, substring, and regex name matching".to_owned()
        })?;
        Ok(RcodeRule { matcher: Matcher::for_replies(kind, name, "rcode")?, from, to })
    }

    pub fn apply(&self, current: &CurrentQuestion) -> Option<Vec<Revert>> {
        self.matcher.matches(current.lower()).then(|| vec![Revert::Rcode { from: self.from, to: self.to }])
    }
}

fn read(text: &str) -> Option<Rcode> {
    let number = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u32>().ok()).flatten();
    match number {
        Some(number) if number <= MAX_RCODE => u16::try_from(number).ok().map(Rcode),
        // An old spelling that CoreDNS still accepts.
        _ if text.eq_ignore_ascii_case("NOTIMPL") => Some(Rcode::NOTIMP),
        _ => Rcode::from_mnemonic(text),
    }
}
