//! Names and signatures of the builtin functions.

use crate::types::{Elements, Type};

/// A parameter of a function with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Value,
    Predicate,
    OptionalValue,
    OptionalPredicate,
}

impl Argument {
    pub fn is_optional(self) -> bool {
        matches!(self, Argument::OptionalValue | Argument::OptionalPredicate)
    }

    pub fn is_predicate(self) -> bool {
        matches!(self, Argument::Predicate | Argument::OptionalPredicate)
    }
}

static NAMES: [&str; 70] = [
    "all",
    "none",
    "any",
    "one",
    "filter",
    "map",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "count",
    "sum",
    "groupBy",
    "sortBy",
    "reduce",
    "len",
    "type",
    "abs",
    "ceil",
    "floor",
    "round",
    "int",
    "float",
    "string",
    "trim",
    "trimPrefix",
    "trimSuffix",
    "upper",
    "lower",
    "split",
    "splitAfter",
    "replace",
    "repeat",
    "join",
    "indexOf",
    "lastIndexOf",
    "hasPrefix",
    "hasSuffix",
    "max",
    "min",
    "mean",
    "median",
    "toJSON",
    "fromJSON",
    "toBase64",
    "fromBase64",
    "now",
    "duration",
    "date",
    "timezone",
    "first",
    "last",
    "get",
    "take",
    "keys",
    "values",
    "toPairs",
    "fromPairs",
    "reverse",
    "uniq",
    "concat",
    "flatten",
    "sort",
    "bitand",
    "bitor",
    "bitxor",
    "bitnand",
    "bitshl",
    "bitshr",
    "bitushr",
];

/// The static name of a builtin function.
pub(crate) fn find(name: &str) -> Option<&'static str> {
    NAMES.iter().copied().chain(["bitnot"]).find(|known| *known == name)
}

pub(crate) fn predicate_arguments(name: &str) -> Option<&'static [Argument]> {
    Some(match name {
        "all" | "none" | "any" | "one" | "filter" | "map" | "find" | "findIndex" | "findLast"
        | "findLastIndex" | "groupBy" => &[Argument::Value, Argument::Predicate],
        "count" | "sum" => &[Argument::Value, Argument::OptionalPredicate],
        "sortBy" | "reduce" => &[Argument::Value, Argument::Predicate, Argument::OptionalValue],
        _ => return None,
    })
}

/// The overloads of a function with their result types; empty for functions that `validate` checks.
pub(crate) fn overloads(name: &str) -> Vec<(Vec<Type>, Type)> {
    use Type::{Any, Int, String};
    let anys = || Type::Array(Elements::Any, None);
    let strings = || Type::Array(Elements::String, None);
    let ints = || Type::Array(Elements::Int, None);
    let floats = || Type::Array(Elements::Float, None);
    match name {
        "type" | "string" | "toJSON" => vec![(vec![Any], String)],
        "trim" => vec![(vec![String], String), (vec![String, String], String)],
        "trimPrefix" | "trimSuffix" => vec![(vec![String, String], String), (vec![String], String)],
        "upper" | "lower" | "toBase64" | "fromBase64" => vec![(vec![String], String)],
        "split" | "splitAfter" => {
            vec![(vec![String, String], strings()), (vec![String, String, Int], strings())]
        }
        "replace" => {
            vec![(vec![String, String, String, Int], String), (vec![String, String, String], String)]
        }
        "repeat" => vec![(vec![String, Int], String)],
        "join" => vec![
            (vec![strings(), String], String),
            (vec![anys(), String], String),
            (vec![anys()], String),
            (vec![strings(), String], String),
            (vec![strings()], String),
        ],
        "indexOf" | "lastIndexOf" => vec![(vec![String, String], Int)],
        "hasPrefix" | "hasSuffix" => vec![(vec![String, String], Type::Bool)],
        "fromJSON" => vec![(vec![String], Any)],
        "duration" => vec![(vec![String], Type::Duration)],
        "timezone" => vec![(vec![String], Type::Location)],
        "sort" => [anys(), ints(), floats(), strings()]
            .map(|ty| (vec![ty, String], anys()))
            .into_iter()
            .chain([anys(), floats(), strings(), ints()].map(|ty| (vec![ty], anys())))
            .collect(),
        "bitand" | "bitor" | "bitxor" | "bitnand" | "bitshl" | "bitshr" | "bitushr" => {
            vec![(vec![Int, Int], Int)]
        }
        "bitnot" => vec![(vec![Int], Int)],
        _ => Vec::new(),
    }
}

/// The Go type of a function, for error messages.
pub(crate) fn type_text(name: &str) -> &'static str {
    match name {
        "all" | "none" | "any" | "one" => "func([]interface {}, func(interface {}) bool) bool",
        "filter" => "func([]interface {}, func(interface {}) bool) []interface {}",
        "map" => "func([]interface {}, func(interface {}) interface {}) []interface {}",
        "find" | "findLast" => "func([]interface {}, func(interface {}) bool) interface {}",
        "findIndex" | "findLastIndex" | "count" | "sum" => {
            "func([]interface {}, func(interface {}) bool) int"
        }
        "groupBy" => "func([]interface {}, func(interface {}) interface {}) map[interface {}][]interface {}",
        "sortBy" => "func([]interface {}, func(interface {}) bool, string) []interface {}",
        "reduce" => {
            "func([]interface {}, func(interface {}, interface {}) interface {}, interface {}) interface {}"
        }
        "type" | "string" | "toJSON" => "func(interface {}) string",
        "trim" | "upper" | "lower" | "toBase64" | "fromBase64" => "func(string) string",
        "trimPrefix" | "trimSuffix" => "func(string, string) string",
        "split" | "splitAfter" => "func(string, string) []string",
        "replace" => "func(string, string, string, int) string",
        "repeat" => "func(string, int) string",
        "join" => "func([]string, string) string",
        "indexOf" | "lastIndexOf" => "func(string, string) int",
        "hasPrefix" | "hasSuffix" => "func(string, string) bool",
        "fromJSON" => "func(string) interface {}",
        "duration" => "func(string) (time.Duration, error)",
        "timezone" => "func(string) (*time.Location, error)",
        "sort" => "func([]interface {}, string) []interface {}",
        "bitand" | "bitor" | "bitxor" | "bitnand" | "bitshl" | "bitshr" | "bitushr" => "func(int, int) int",
        "bitnot" => "func(int) int",
        _ => "func(...interface {}) (interface {}, error)",
    }
}
