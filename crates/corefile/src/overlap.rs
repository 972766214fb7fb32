//! Finds duplicate zones: the same zone and port on the same address, or on all addresses and on one of them.

use std::collections::HashMap;
use std::fmt;

use crate::diagnostic::Diagnostic;
use crate::key::{Scheme, ZoneKey};
use crate::span::Span;

/// One zone on one listening address. Displays as `dns://example.org.:53 on 127.0.0.1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneListener {
    pub scheme: Scheme,
    pub zone: String,
    pub port: String,
    /// Empty for all addresses.
    pub address: String,
    /// Whether the block has a view, which selects its queries; such blocks may share a zone.
    pub filtered: bool,
    pub span: Option<Span>,
}

impl ZoneListener {
    pub fn new(key: &ZoneKey, address: &str, filtered: bool) -> Self {
        Self {
            scheme: key.scheme,
            zone: key.zone.clone(),
            port: key.port.clone(),
            address: address.to_string(),
            filtered,
            span: Some(key.span.clone()),
        }
    }

    fn identity(&self) -> (Scheme, &str, &str, &str) {
        (self.scheme, &self.zone, &self.port, &self.address)
    }

    fn on_every_address(&self) -> (Scheme, &str, &str, &str) {
        (self.scheme, &self.zone, &self.port, "")
    }
}

impl fmt::Display for ZoneListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme, self.zone, self.port)?;
        if !self.address.is_empty() {
            write!(f, " on {}", self.address)?;
        }
        Ok(())
    }
}

/// Reports the first of `all`, in the order of the Corefile, that conflicts with an earlier one.
pub fn check_overlap(all: &[ZoneListener]) -> Result<(), Diagnostic> {
    let mut registered: HashMap<_, &ZoneListener> = HashMap::new();
    // The last registered of each zone and port, whatever its address.
    let mut anywhere: HashMap<_, &ZoneListener> = HashMap::new();
    for new in all {
        if let Some(first) = registered.get(&new.identity()) {
            if new.filtered {
                continue;
            }
            let error = Diagnostic::error(format!("cannot serve {new} - it is already defined"));
            return Err(with_positions(error, new, first));
        }
        let conflict = match anywhere.get(&new.on_every_address()) {
            Some(first) if new.address.is_empty() => Some(*first),
            Some(_) => registered.get(&new.on_every_address()).copied(),
            None => None,
        };
        if let Some(first) = conflict {
            let message = format!("cannot serve {new} - zone overlap listener capacity with {first}");
            return Err(with_positions(Diagnostic::error(message), new, first));
        }
        if !new.filtered {
            registered.insert(new.identity(), new);
            anywhere.insert(new.on_every_address(), new);
        }
    }
    Ok(())
}

fn with_positions(error: Diagnostic, new: &ZoneListener, first: &ZoneListener) -> Diagnostic {
    let error = match &new.span {
        Some(span) => error.at(span),
        None => error,
    };
    match &first.span {
        Some(span) => error.help(format!("first defined at {}:{}", span.file.name(), span.line)),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases are `ZONE[@ADDRESS][?]`, a question mark for a block with a view.
    fn check(all: &[&str], expected: Result<(), &str>) {
        let all: Vec<_> = all
            .iter()
            .map(|text| {
                let (text, filtered) = text.strip_suffix('?').map_or((*text, false), |text| (text, true));
                let (zone, address) = text.split_once('@').unwrap_or((text, ""));
                ZoneListener {
                    scheme: Scheme::Dns,
                    zone: zone.to_string(),
                    port: "53".to_string(),
                    address: address.to_string(),
                    filtered,
                    span: None,
                }
            })
            .collect();
        let found = check_overlap(&all).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_string), "{all:?}");
    }

    #[test]
    fn conflicts() {
        check(&["a.", "b."], Ok(()));
        check(&["a.", "a."], Err("cannot serve dns://a.:53 - it is already defined"));
        check(&["a.@::1", "a.@::1"], Err("cannot serve dns://a.:53 on ::1 - it is already defined"));
        check(&["a.@::1", "a.@::2"], Ok(()));
        check(
            &["a.@::1", "a."],
            Err("cannot serve dns://a.:53 - zone overlap listener capacity with dns://a.:53 on ::1"),
        );
        check(
            &["a.", "a.@::1"],
            Err("cannot serve dns://a.:53 on ::1 - zone overlap listener capacity with dns://a.:53"),
        );
        // The message names the last registered, not the first.
        check(
            &["a.@::1", "a.@::2", "a."],
            Err("cannot serve dns://a.:53 - zone overlap listener capacity with dns://a.:53 on ::2"),
        );
    }

    #[test]
    fn views() {
        check(&["a.?", "a.?", "a."], Ok(()));
        check(&["a.", "a.?"], Ok(()));
        check(
            &["a.@::1", "a.?"],
            Err("cannot serve dns://a.:53 - zone overlap listener capacity with dns://a.:53 on ::1"),
        );
        check(&["a.?", "a.@::1"], Ok(()));
    }
}
