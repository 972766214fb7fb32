//! Kubernetes label selectors: `app=web,tier in (a, b),!legacy`.

mod label;
mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

/// A parsed label selector, in its canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// All must match. Ascending, without duplicates.
    requirements: Box<[Requirement]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Requirement {
    key: Box<str>,
    operator: Operator,
    /// Ascending, without duplicates.
    values: Box<[Box<str>]>,
}

/// `=` and `!=` are sets of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

/// Why a text is no selector, in the wording of Kubernetes' parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError(pub String);

impl Selector {
    /// Accepts the syntax of Kubernetes' `ParseToLabelSelector`, and `!=`, which only the API server accepts.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut requirements = parse::requirements(text)?;
        requirements.sort_unstable();
        requirements.dedup();
        Ok(Self { requirements: requirements.into() })
    }

    pub fn matches<'l>(&self, labels: impl Iterator<Item = (&'l str, &'l str)> + Clone) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels.clone().find(|(key, _)| *key == &*requirement.key).map(|(_, value)| value);
            requirement.matches(value)
        })
    }
}

impl Requirement {
    /// `NotIn` also matches objects without the label.
    fn matches(&self, value: Option<&str>) -> bool {
        let listed = |value: &str| self.values.iter().any(|other| **other == *value);
        match self.operator {
            Operator::In => value.is_some_and(listed),
            Operator::NotIn => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

/// In the syntax of the API server.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, requirement) in self.requirements.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match (self.operator, &*self.values) {
            (Operator::In, [value]) => write!(f, "{key}={value}"),
            (Operator::NotIn, [value]) => write!(f, "{key}!={value}"),
            (Operator::In, values) => write!(f, "{key} in ({})", values.join(",")),
            (Operator::NotIn, values) => write!(f, "{key} notin ({})", values.join(",")),
            (Operator::Exists, _) => write!(f, "{key}"),
            (Operator::DoesNotExist, _) => write!(f, "!{key}"),
        }
    }
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SelectorError {}
