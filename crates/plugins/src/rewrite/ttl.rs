//! `ttl [KIND] NAME SECONDS|MIN-MAX`: sets or bounds TTLs.

use super::CurrentQuestion;
use super::matcher::{Kind, Matcher};
use super::revert::Revert;

/// The upper end of an open range: the maximum TTL (RFC 2181 §8).
const MAX_TTL: u32 = 2_147_483_647;

pub(super) struct Ttl {
    matcher: Matcher,
    min: u32,
    max: u32,
}

impl Ttl {
    pub fn parse(args: &[String]) -> Result<Ttl, String> {
        let (kind, from, seconds) = match args {
            [from, seconds] => (None, from, seconds.as_str()),
            [kind, from, seconds] => (Some(kind), from, seconds.as_str()),
            [from, .., _] => (None, from, ""),
            _ => return Err(format!("too few ({}) arguments for a ttl rule", args.len())),
        };
        let (min, max) = range(seconds).ok_or_else(|| format!("invalid TTL '{seconds}' for a ttl rule"))?;
        let kind = kind.map_or(Some(Kind::Exact), |word| Kind::read(word)).ok_or_else(|| {
            "ttl rule supports only exact, prefix, suffix, substring, and regex name matching".to_owned()
        })?;
        Ok(Ttl { matcher: Matcher::for_replies(kind, from, "ttl")?, min, max })
    }

    pub fn apply(&self, current: &CurrentQuestion) -> Option<Vec<Revert>> {
        self.matcher.matches(current.lower()).then(|| vec![Revert::Ttl { min: self.min, max: self.max }])
    }
}

/// `30`, `30-300`, `30-` or `-300`.
fn range(text: &str) -> Option<(u32, u32)> {
    let seconds = |text: &str| {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok())?
    };
    match text.split_once('-') {
        None => seconds(text).map(|only| (only, only)),
        Some(("", "")) => None,
        Some((min, max)) => {
            let min = if min.is_empty() { 0 } else { seconds(min)? };
            let max = if max.is_empty() { MAX_TTL } else { seconds(max)? };
            (min <= max).then_some((min, max))
        }
    }
}
