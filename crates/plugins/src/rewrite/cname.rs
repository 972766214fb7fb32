//! `cname [KIND] FROM TO`: rewrites CNAME targets in replies.

use super::matcher::{Kind, Matcher, normal};
use super::pattern::PatternError;

pub(super) struct Cname {
    matcher: Matcher,
    to: String,
    /// An empty FROM or TO makes a rule that never matches.
    empty: bool,
}

impl Cname {
    pub fn parse(args: &[String]) -> Result<Cname, String> {
        let (kind, from, to) = match args {
            [from, to] => (Kind::Exact, from, to),
            [kind, from, to] => {
                let unknown = || format!("unknown cname rewrite type: {}", kind.to_lowercase());
                (Kind::read(kind).ok_or_else(unknown)?, from, to)
            }
            _ => return Err(format!("too few ({}) arguments for a cname rule", args.len())),
        };
        let (mut from, mut to) = (from.to_lowercase(), to.to_lowercase());
        if kind == Kind::Exact {
            (from, to) = (normal(&from), normal(&to));
        }
        let empty = from.is_empty() || to.is_empty();
        let matcher = Matcher::new(kind, from).map_err(|error| match error {
            PatternError::TooLong(len) => PatternError::too_long(" in a cname rule", len),
            PatternError::Syntax(error) => format!("invalid cname rewrite regex pattern: {error}"),
        })?;
        Ok(Cname { matcher, to, empty })
    }

    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// The new target of an alias.
    pub fn target(&self, old: &str) -> Option<String> {
        self.matcher.rewritten(old, &self.to)
    }
}
