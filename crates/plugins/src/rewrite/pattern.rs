//! Go regular expressions, and replacements with their groups.

use golang::Regexp;

/// Maximum length of a pattern.
const MAX_LEN: usize = 10_000;

pub(super) struct Pattern(Regexp);

/// Why a pattern was rejected.
pub(super) enum PatternError {
    TooLong(usize),
    /// With Go's error text.
    Syntax(String),
}

impl PatternError {
    /// `regex pattern too long: 10001 > 10000`; `place` names the rule.
    pub fn too_long(place: &str, len: usize) -> String {
        format!("regex pattern too long{place}: {len} > {MAX_LEN}")
    }
}

impl Pattern {
    pub fn compile(source: &str) -> Result<Pattern, PatternError> {
        if source.len() > MAX_LEN {
            return Err(PatternError::TooLong(source.len()));
        }
        Regexp::compile(source).map(Pattern).map_err(PatternError::Syntax)
    }

    /// The number of groups, without the whole match.
    pub fn groups(&self) -> usize {
        self.0.groups()
    }

    pub fn matches(&self, text: &str) -> bool {
        self.0.matches(text)
    }

    /// The whole match and its groups; a group that did not participate is empty.
    pub fn find<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        self.0.find(text)
    }

    /// `to` with `{0}`, `{1}` and so on replaced by the matched groups.
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
