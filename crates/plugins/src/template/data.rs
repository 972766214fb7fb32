//! What templates may ask about a query. Nothing is made before one does.

use std::cell::OnceCell;

use golang::{Data, Field, Groups, Regexp, Value};
use server::Visit;
use wire::{Class, Rtype};

use super::message::{Message, Question};
use super::variables::Held;
use super::{Template, Zone};

/// A query that a template matches.
pub(super) struct Matched<'q> {
    pub visit: &'q Visit<'q>,
    zone: &'q str,
    name: &'q str,
    pattern: &'q Regexp,
    pub class: &'static str,
    pub rtype: &'static str,
    by_name: ByName<'q>,
    question: Question<'q>,
    message: Message<'q>,
    variables: Held,
}

impl<'q> Matched<'q> {
    pub fn new(
        visit: &'q Visit<'q>,
        template: &Template,
        zone: &'q Zone,
        name: &'q str,
        pattern: &'q Regexp,
    ) -> Matched<'q> {
        let question = &visit.query.question;
        let class = if question.qclass == Class::ANY { template.class } else { question.qclass };
        let rtype = if question.qtype == Rtype::ANY { template.rtype } else { question.qtype };
        Matched {
            visit,
            zone: &zone.text,
            name,
            pattern,
            class: if class == Class::ANY { "ANY" } else { class.mnemonic().unwrap_or_default() },
            rtype: rtype.mnemonic().unwrap_or_default(),
            by_name: ByName {
                found: Found { name, pattern, groups: OnceCell::new() },
                keys: OnceCell::new(),
            },
            question: Question { question },
            message: Message::new(visit.query),
            variables: Held::default(),
        }
    }

    /// The same with its variables.
    pub fn with(self, variables: Held) -> Matched<'q> {
        Matched { variables, ..self }
    }

    /// A group by its name or number; empty if there is none.
    pub fn group(&self, key: &str) -> &str {
        self.by_name.group(key).map_or("", |group| self.by_name.found.get(group))
    }
}

impl Data for Matched<'_> {
    fn type_name(&self) -> &str {
        "*template.templateData"
    }

    fn field(&self, name: &str) -> Field<'_> {
        Field::Value(match name {
            "Name" => Value::text(self.name),
            "Zone" => Value::text(self.zone),
            "Group" => Value::Map(&self.by_name),
            "Match" => Value::list(&self.by_name.found),
            "Class" => Value::text(self.class),
            "Type" => Value::text(self.rtype),
            "Regex" => Value::text(self.pattern.source()),
            // A client on a socket for both families comes as an IPv4 address in IPv6 form.
            "Remote" => Value::owned(self.visit.client.remote.ip().to_canonical().to_string()),
            "Question" => Value::Struct(&self.question),
            "Message" => Value::Struct(&self.message),
            "Var" => Value::Map(&self.variables),
            "Meta" => return Field::Method(1),
            "md" => return Field::Unexported,
            _ => return Field::Unknown,
        })
    }

    /// `Meta`: what plugins know about the query, or nothing.
    fn call(&self, _method: &str, args: &[Value<'_>]) -> Value<'_> {
        let label = match args {
            [Value::Text(label)] => std::str::from_utf8(label).unwrap_or_default(),
            _ => "",
        };
        Value::owned(self.visit.metadata(label).unwrap_or_default())
    }
}

/// `.Match`: the groups by their numbers, looked for when the first one is asked for.
struct Found<'q> {
    name: &'q str,
    pattern: &'q Regexp,
    groups: OnceCell<Option<Groups>>,
}

impl Found<'_> {
    fn groups(&self) -> Option<&Groups> {
        self.groups.get_or_init(|| self.pattern.find_groups(self.name)).as_ref()
    }

    fn get(&self, group: usize) -> &str {
        self.groups().map_or("", |groups| groups.get(self.name, group))
    }
}

impl Data for Found<'_> {
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
struct ByName<'q> {
    found: Found<'q>,
    /// All keys in order and the groups they stand for; only made to be walked over.
    keys: OnceCell<Vec<(String, usize)>>,
}

impl ByName<'_> {
    /// Names come before numbers, the last of a name before the others.
    fn group(&self, key: &str) -> Option<usize> {
        let pattern = self.found.pattern;
        let named = pattern.names().iter().rposition(|name| name == key).filter(|_| !key.is_empty());
        named.or_else(|| {
            let plain =
                key.bytes().all(|byte| byte.is_ascii_digit()) && (key == "0" || !key.starts_with('0'));
            let number = plain.then(|| key.parse().ok()).flatten();
            number.filter(|number| *number <= pattern.groups())
        })
    }

    fn keys(&self) -> &[(String, usize)] {
        self.keys.get_or_init(|| {
            let pattern = self.found.pattern;
            let numbers = (0..=pattern.groups()).map(|number| number.to_string());
            let names = pattern.names().iter().filter(|name| !name.is_empty()).cloned();
            let mut keys: Vec<String> = numbers.chain(names).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().filter_map(|key| self.group(&key).map(|group| (key, group))).collect()
        })
    }
}

impl Data for ByName<'_> {
    fn type_name(&self) -> &str {
        "map[string]string"
    }

    fn len(&self) -> usize {
        self.keys().len()
    }

    fn item(&self, place: usize) -> Value<'_> {
        Value::text(self.keys().get(place).map_or("", |(_, group)| self.found.get(*group)))
    }

    fn key(&self, place: usize) -> Value<'_> {
        Value::text(self.keys().get(place).map_or("", |(key, _)| key))
    }

    fn get(&self, key: &[u8]) -> Option<Value<'_>> {
        let group = self.group(std::str::from_utf8(key).ok()?)?;
        Some(Value::text(self.found.get(group)))
    }
}
