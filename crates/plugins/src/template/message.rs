//! `.Question` and `.Message`: the query itself.

use golang::{Data, Field, Value, Width};
use wire::{Class, Flags, Query};

/// `*dns.Question`
pub(super) struct Question<'q> {
    pub question: &'q wire::Question,
}

impl Data for Question<'_> {
    fn type_name(&self) -> &str {
        "*dns.Question"
    }

    fn field(&self, name: &str) -> Field<'_> {
        Field::Value(match name {
            "Name" => Value::owned(self.question.name().to_string()),
            "Qtype" => Value::Uint(self.question.qtype.0.into(), Width::Bits16),
            "Qclass" => Value::Uint(self.question.qclass.0.into(), Width::Bits16),
            "String" => return Field::Method(0),
            _ => return Field::Unknown,
        })
    }

    fn fields(&self) -> Vec<(&str, Value<'_>)> {
        let value = |name| match self.field(name) {
            Field::Value(value) => value,
            _ => Value::Nil,
        };
        ["Name", "Qtype", "Qclass"].map(|name| (name, value(name))).into()
    }

    fn call(&self, _method: &str, _args: &[Value<'_>]) -> Value<'_> {
        Value::owned(self.string().unwrap_or_default())
    }

    fn string(&self) -> Option<String> {
        let wire::Question { qtype, qclass, .. } = self.question;
        // Class ANY has its mnemonic here, unlike in logs.
        let class = if *qclass == Class::ANY { "ANY".to_owned() } else { qclass.to_string() };
        Some(format!(";{}\t{class}\t {qtype}", self.question.name()))
    }
}

/// `*dns.Msg`. Its sections have the right length, but no records.
pub(super) struct Message<'q> {
    query: &'q Query,
    questions: Questions<'q>,
    none: Records,
    additional: Records,
}

impl<'q> Message<'q> {
    pub fn new(query: &'q Query) -> Message<'q> {
        Message {
            query,
            questions: Questions(Question { question: &query.question }),
            none: Records(0),
            additional: Records(usize::from(query.edns.is_some())),
        }
    }
}

impl Data for Message<'_> {
    fn type_name(&self) -> &str {
        "*dns.Msg"
    }

    fn field(&self, name: &str) -> Field<'_> {
        let flag = |flag| Value::Bool(self.query.flags.has(flag));
        Field::Value(match name {
            "Id" => Value::Uint(self.query.id.into(), Width::Bits16),
            "Response" | "Compress" => Value::Bool(false),
            "Opcode" => Value::Int(self.query.opcode.0.into()),
            "Authoritative" => flag(Flags::AA),
            "Truncated" => flag(Flags::TC),
            "RecursionDesired" => flag(Flags::RD),
            "RecursionAvailable" => flag(Flags::RA),
            "Zero" => flag(Flags::Z),
            "AuthenticatedData" => flag(Flags::AD),
            "CheckingDisabled" => flag(Flags::CD),
            "Rcode" => Value::Int(0),
            "Question" => Value::list(&self.questions),
            "Answer" | "Ns" => Value::list(&self.none),
            "Extra" => Value::list(&self.additional),
            _ => return Field::Unknown,
        })
    }
}

/// `[]dns.Question`
struct Questions<'q>(Question<'q>);

impl Data for Questions<'_> {
    fn type_name(&self) -> &str {
        "[]dns.Question"
    }

    fn len(&self) -> usize {
        1
    }

    fn item(&self, _place: usize) -> Value<'_> {
        Value::Struct(&self.0)
    }
}

/// `[]dns.RR`
struct Records(usize);

impl Data for Records {
    fn type_name(&self) -> &str {
        "[]dns.RR"
    }

    fn len(&self) -> usize {
        self.0
    }
}
