//! The data of a query for templates; each value is computed on first use.

use std::cell::OnceCell;

use golang::{Data, Field, Groups, Regexp, Value};
use server::Visit;
use wire::{Class, Rtype};

use super::message::{Message, Question};
use super::variables::VariableMap;
use super::{Template, Zone};

/// A query that a template matches.
pub(super) struct MatchedQuery<'q> {
    pub visit: &'q Visit<'q>,
    zone: &'q str,
    name: &'q str,
    pattern: &'q Regexp,
    pub class: &'static str,
    pub rtype: &'static str,
    named_groups: NamedGroups<'q>,
    question: Question<'q>,
    message: Message<'q>,
    variables: VariableMap,
}

impl<'q> MatchedQuery<'q> {
    pub fn new(
        visit: &'q Visit<'q>,
        template: &Template,
        zone: &'q Zone,
        name: &'q str,
        pattern: &'q Regexp,
    ) -> MatchedQuery<'q> {
        let question = &visit.query.question;
        let class = if question.qclass == Class::ANY { template.class } else { question.qclass };
        let rtype = if question.qtype == Rtype::ANY { template.rtype } else { question.qtype };
        MatchedQuery {
            visit,
            zone: &zone.text,
            name,
            pattern,
            class: if class == Class::ANY { "ANY" } else { class.mnemonic().unwrap_or_default() },
            rtype: rtype.mnemonic().unwrap_or_default(),
            named_groups: NamedGroups {
                groups: MatchGroups { name, pattern, groups: OnceCell::new() },
                keys: OnceCell::new(),
            },
            question: Question { question },
            message: Message::new(visit.query),
            variables: VariableMap::default(),
        }
    }

    /// Adds the variables.
    pub fn with(self, variables: VariableMap) -> MatchedQuery<'q> {
        MatchedQuery { variables, ..self }
    }

    /// A group by its name or number; empty if there is none.
    pub fn group(&self, key: &str) -> &str {
        self.named_groups.group(key).map_or("", |group| self.named_groups.groups.get(group))
    }
}

impl Data for MatchedQuery<'_> {
    fn type_name(&self) -> &str {
        "*template.templateData"
    }

    fn field(&self, name: &str) -> Field<'_> {
        Field::Value(match name {
            "Name" => Value::text(self.name),
            "Zone" => Value::text(self.zone),
            "Group" => Value::Map(&self.named_groups),
            "Match" => Value::list(&self.named_groups.groups),
            "Class" => Value::text(self.class),
            "Type" => Value::text(self.rtype),
            "Regex" => Value::text(self.pattern.source()),
            // A dual-stack socket reports IPv4 clients as IPv4-mapped IPv6 addresses.
            "Remote" => Value::owned(self.visit.client.remote.ip().to_canonical().to_string()),
            "Question" => Value::Struct(&self.question),
            "Message" => Value::Struct(&self.message),
            "Var" => Value::Map(&self.variables),
            "Meta" => return Field::Method(1),
            "md" => return Field::Unexported,
            _ => return Field::Unknown,
        })
    }

    /// `Meta`: metadata of the query, or empty text.
    fn call(&self, _method: &str, args: &[Value<'_>]) -> Value<'_> {
        let label = match args {
            [Value::Text(label)] => std::str::from_utf8(label).unwrap_or_default(),
            _ => "",
        };
        Value::owned(self.visit.metadata(label).unwrap_or_default())
    }
}

/// `.Match`: the groups by number; matched on first use.
struct MatchGroups<'q> {
    name: &'q str,
    pattern: &'q Regexp,
    groups: OnceCell<Option<Groups>>,
}

impl MatchGroups<'_> {
    fn groups(&self) -> Option<&Groups> {
        self.groups.get_or_init(|| self.pattern.find_groups(self.name)).as_ref()
    }

    fn get(&self, group: usize) -> &str {
        self.groups().map_or("", |groups| groups.get(self.name, group))
    }
}

impl Data for MatchGroups<'_> {
    fn type_name(&self) -> &str {
        "[]string"
    }

    fn len(&self) -> usize {
        self.pattern.groups() + 1
    }

    fn item(&self, place: usize) -> Value<'_> {
        Value::text(self.get(place))
    }
}

/// `.Group`: the groups by their names and numbers.
struct NamedGroups<'q> {
    groups: MatchGroups<'q>,
    /// All keys in order, with their groups; computed for iteration only.
    keys: OnceCell<Vec<(String, usize)>>,
}

impl NamedGroups<'_> {
    /// Names take precedence over numbers, the last group of a name over earlier ones.
    fn group(&self, key: &str) -> Option<usize> {
        let pattern = self.groups.pattern;
        let named = pattern.names().iter().rposition(|name| name == key).filter(|_| !key.is_empty());
        named.or_else(|| {
            let is_number =
                key.bytes().all(|byte| byte.is_ascii_digit()) && (key == "0" || !key.starts_with('0'));
            let number = is_number.then(|| key.parse().ok()).flatten();
            number.filter(|number| *number <= pattern.groups())
        })
    }

    fn keys(&self) -> &[(String, usize)] {
        self.keys.get_or_init(|| {
            let pattern = self.groups.pattern;
            let numbers = (0..=pattern.groups()).map(|number| number.to_string());
            let names = pattern.names().iter().filter(|name| !name.is_empty()).cloned();
            let mut keys: Vec<String> = numbers.chain(names).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().filter_map(|key| self.group(&key).map(|group| (key, group))).collect()
        })
    }
}

impl Data for NamedGroups<'_> {
    fn type_name(&self) -> &str {
        "map[string]string"
    }

    fn len(&self) -> usize {
        self.keys().len()
    }

    fn item(&self, place: usize) -> Value<'_> {
        Value::text(self.keys().get(place).map_or("", |(_, group)| self.groups.get(*group)))
    }

    fn key(&self, place: usize) -> Value<'_> {
        Value::text(self.keys().get(place).map_or("", |(key, _)| key))
    }

    fn get(&self, key: &[u8]) -> Option<Value<'_>> {
        let group = self.group(std::str::from_utf8(key).ok()?)?;
        Some(Value::text(self.groups.get(group)))
    }
}
