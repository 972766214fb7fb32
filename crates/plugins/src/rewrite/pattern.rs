//! Go regular expressions, and texts made of their groups.

use golang::Regexp;

/// Longer patterns are refused.
const MAX_LEN: usize = 10_000;

pub(super) struct Pattern(Regexp);

/// Why a pattern is none.
pub(super) enum Bad {
    TooLong(usize),
    /// In Go's words.
    Syntax(String),
}

impl Bad {
    /// `regex pattern too long: 10001 > 10000`, with words about the rule in between.
    pub fn too_long(place: &str, len: usize) -> String {
        format!("regex pattern too long{place}: {len} > {MAX_LEN}")
    }
}

impl Pattern {
    pub fn compile(source: &str) -> Result<Pattern, Bad> {
        if source.len() > MAX_LEN {
            return Err(Bad::TooLong(source.len()));
        }
        Regexp::compile(source).map(Pattern).map_err(Bad::Syntax)
    }

    /// How many groups it has, the whole match not counted.
    pub fn groups(&self) -> usize {
        self.0.groups()
    }

    pub fn matches(&self, text: &str) -> bool {
        self.0.matches(text)
    }

    /// The whole match and its groups; a group that took no part is empty.
    pub fn find<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        self.0.find(text)
    }

    /// `to` with `{0}`, `{1}` and so on replaced by what the groups hold.
    pub fn expand(&self, text: &str, to: &str) -> Option<String> {
        let groups = self.find(text)?;
        let mut out = to.to_owned();
        for (number, value) in groups.iter().enumerate() {
            let place = format!("{{{number}}}");
            if out.contains(&place) {
                out = out.replace(&place, value);
            }
        }
        Some(out)
    }
}
