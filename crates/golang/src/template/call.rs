//! Functions of templates.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::escape;
use super::eval::{behind_pointer, index, to_index};
use crate::format;
use crate::parse_uint::parse_uint;
use crate::value::{Value, Width};

/// A function, independent of its name in templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    And,
    Call,
    Html,
    Index,
    Slice,
    Js,
    Len,
    Not,
    Or,
    Print,
    Printf,
    Println,
    UrlQuery,
    Eq,
    Ge,
    Gt,
    Le,
    Lt,
    Ne,
    /// `strconv.ParseUint`
    ParseUint,
}

/// Functions of every template.
pub(super) const BUILT_IN: &[(&str, Function)] = &[
    ("and", Function::And),
    ("call", Function::Call),
    ("html", Function::Html),
    ("index", Function::Index),
    ("slice", Function::Slice),
    ("js", Function::Js),
    ("len", Function::Len),
    ("not", Function::Not),
    ("or", Function::Or),
    ("print", Function::Print),
    ("printf", Function::Printf),
    ("println", Function::Println),
    ("urlquery", Function::UrlQuery),
    ("eq", Function::Eq),
    ("ge", Function::Ge),
    ("gt", Function::Gt),
    ("le", Function::Le),
    ("lt", Function::Lt),
    ("ne", Function::Ne),
];

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Param {
    /// Anything, as `reflect.Value`.
    Reflect,
    /// Anything, as `interface {}`.
    Any,
    Text,
    Int,
}

impl Param {
    pub fn can_be_nil(self) -> bool {
        matches!(self, Param::Reflect | Param::Any)
    }

    pub fn name(self) -> &'static str {
        match self {
            Param::Reflect => "reflect.Value",
            Param::Any => "interface {}",
            Param::Text => "string",
            Param::Int => "int",
        }
    }
}

type CallResult<'a> = Result<Value<'a>, Cow<'static, str>>;

impl Function {
    /// Its fixed parameters, and the type of the variadic one.
    pub(super) fn parameters(self) -> (&'static [Param], Option<Param>) {
        use Param::{Any, Int, Reflect, Text};
        match self {
            Function::And
            | Function::Or
            | Function::Call
            | Function::Index
            | Function::Slice
            | Function::Eq => (&[Reflect], Some(Reflect)),
            Function::Html | Function::Js | Function::UrlQuery | Function::Print | Function::Println => {
                (&[], Some(Any))
            }
            Function::Printf => (&[Text], Some(Any)),
            Function::Len | Function::Not => (&[Reflect], None),
            Function::Ge | Function::Gt | Function::Le | Function::Lt | Function::Ne => {
                (&[Reflect, Reflect], None)
            }
            Function::ParseUint => (&[Text, Int, Int], None),
        }
    }

    /// The error of `call`: our data has no functions.
    pub(super) fn call_of<'a>(self, name: &str, args: &[Value<'a>]) -> CallResult<'a> {
        Err(match args.first().and_then(Value::type_name) {
            None => "call of nil".into(),
            Some(of) => format!("non-function {name} of type {of}").into(),
        })
    }

    /// Calls the function with arguments that match [`Function::parameters`].
    pub(super) fn call<'a>(self, args: Vec<Value<'a>>) -> CallResult<'a> {
        let bytes = |text: Vec<u8>| Value::Text(Cow::Owned(text));
        Ok(match self {
            // Handled in `eval.rs`, where arguments are evaluated.
            Function::And | Function::Or | Function::Call => Value::Nil,
            Function::Html => bytes(escape::html(&joined(&args))),
            Function::Js => bytes(escape::js(&joined(&args))),
            Function::UrlQuery => bytes(escape::url_query(&joined(&args))),
            Function::Print => bytes(format::print(&args)),
            Function::Println => bytes(format::println(&args)),
            Function::Printf => match &args[..] {
                [Value::Text(format), rest @ ..] => bytes(format::printf(format, rest)),
                _ => Value::Nil,
            },
            Function::Index => indexed(args)?,
            Function::Slice => sliced(args)?,
            Function::Len => length(args.first())?,
            Function::Not => Value::Bool(!args.first().is_some_and(Value::is_true)),
            Function::Eq => Value::Bool(equals_any(&args)?),
            Function::Ne => Value::Bool(!equals_any(&args)?),
            Function::Lt => Value::Bool(less(&args)?),
            Function::Ge => Value::Bool(!less(&args)?),
            Function::Le => Value::Bool(less(&args)? || equals_any(&args)?),
            Function::Gt => Value::Bool(!(less(&args)? || equals_any(&args)?)),
            Function::ParseUint => match &args[..] {
                [Value::Text(text), Value::Int(base), Value::Int(bits)] => {
                    Value::Uint(parse_uint(text, *base, *bits)?, Width::Bits64)
                }
                _ => Value::Nil,
            },
        })
    }
}

fn joined(args: &[Value<'_>]) -> Vec<u8> {
    match args {
        [Value::Text(text)] => text.to_vec(),
        // Nil is printed as `<no value>` here.
        args => {
            let is_nil = |arg: &Value<'_>| matches!(arg, Value::Nil);
            if !args.iter().any(is_nil) {
                return format::print(args);
            }
            let printed: Vec<Value<'_>> = args
                .iter()
                .map(|arg| if is_nil(arg) { Value::text("<no value>") } else { arg.clone() })
                .collect();
            format::print(&printed)
        }
    }
}

fn indexed<'a>(args: Vec<Value<'a>>) -> CallResult<'a> {
    let mut args = args.into_iter();
    let mut value = args.next().unwrap_or(Value::Nil);
    if let Value::Nil = value {
        return Err("index of untyped nil".into());
    }
    for by in args {
        if let Value::Nil = value {
            return Err("index of nil pointer".into());
        }
        value = index(value, &by)?;
    }
    Ok(value)
}

fn sliced<'a>(args: Vec<Value<'a>>) -> CallResult<'a> {
    let mut args = args.into_iter();
    let value = args.next().unwrap_or(Value::Nil);
    let indexes: Vec<Value<'a>> = args.collect();
    if let Value::Nil = value {
        return Err("slice of untyped nil".into());
    }
    if indexes.len() > 3 {
        return Err(format!("too many slice indexes: {}", indexes.len()).into());
    }
    let (len, limit) = match &value {
        Value::Text(_) if indexes.len() == 3 => return Err("cannot 3-index slice a string".into()),
        Value::Text(text) => (text.len(), text.len()),
        Value::List(data, from, to) => (to - from, data.len() - from),
        other => return Err(format!("can't slice item of type {}", behind_pointer(other)).into()),
    };
    let mut bounds = [0, len, limit];
    for (bound, index) in bounds.iter_mut().zip(&indexes) {
        *bound = to_index(index, limit)?;
    }
    let [first, end, most] = bounds;
    for (a, b) in [(first, end), (end, most)] {
        if a > b {
            return Err(format!("invalid slice index: {a} > {b}").into());
        }
    }
    Ok(match value {
        Value::Text(Cow::Borrowed(text)) => Value::Text(Cow::Borrowed(&text[first..end])),
        Value::Text(Cow::Owned(text)) => Value::Text(Cow::Owned(text[first..end].to_vec())),
        Value::List(data, from, _) => Value::List(data, from + first, from + end),
        other => other,
    })
}

fn length<'a>(value: Option<&Value<'a>>) -> CallResult<'a> {
    let len = match value {
        Some(Value::Text(text)) => text.len(),
        Some(Value::List(_, from, to)) => to - from,
        Some(Value::Map(data)) => data.len(),
        None | Some(Value::Nil) => return Err("reflect: call of reflect.Value.Type on zero Value".into()),
        Some(other) => return Err(format!("len of type {}", behind_pointer(other)).into()),
    };
    Ok(Value::Int(len as i64))
}

/// Comparable kinds of values, as in Go's `basicKind`.
#[derive(PartialEq)]
enum Basic {
    Bool,
    Complex,
    Int,
    Float,
    Text,
    Uint,
}

fn basic(value: &Value<'_>) -> Option<Basic> {
    Some(match value {
        Value::Bool(_) => Basic::Bool,
        Value::Complex(..) => Basic::Complex,
        Value::Int(_) => Basic::Int,
        Value::Float(_) => Basic::Float,
        Value::Text(_) => Basic::Text,
        Value::Uint(..) => Basic::Uint,
        _ => return None,
    })
}

const NO_COMPARISON: &str = "invalid type for comparison";

fn incompatible(a: &Value<'_>, b: &Value<'_>) -> Cow<'static, str> {
    let name = |value: &Value<'_>| value.type_name().unwrap_or_default().to_owned();
    format!("incompatible types for comparison: {} and {}", name(a), name(b)).into()
}

/// Whether the first argument equals one of the others.
fn equals_any(args: &[Value<'_>]) -> Result<bool, Cow<'static, str>> {
    let Some((first, others)) = args.split_first() else { return Ok(false) };
    if others.is_empty() {
        return Err("missing argument for comparison".into());
    }
    for other in others {
        if equals(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equals(a: &Value<'_>, b: &Value<'_>) -> Result<bool, Cow<'static, str>> {
    Ok(match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Uint(a, _), Value::Uint(b, _)) => a == b,
        (Value::Int(int), Value::Uint(uint, _)) | (Value::Uint(uint, _), Value::Int(int)) => {
            u64::try_from(*int) == Ok(*uint)
        }
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Complex(ar, ai), Value::Complex(br, bi)) => ar == br && ai == bi,
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Nil, Value::Nil) => true,
        (Value::Nil, other) | (other, Value::Nil) => is_nil(other),
        (a @ (Value::List(..) | Value::Map(_)), b @ (Value::List(..) | Value::Map(_)))
            if std::mem::discriminant(a) == std::mem::discriminant(b) && (is_nil(a) || is_nil(b)) =>
        {
            is_nil(a) == is_nil(b)
        }
        (a, b) if basic(a).is_some() || basic(b).is_some() => return Err(incompatible(a, b)),
        (Value::Struct(a), Value::Struct(b)) => std::ptr::addr_eq(*a, *b),
        (a, b) => {
            let text = |value: &Value<'_>| {
                String::from_utf8_lossy(&format::print(std::slice::from_ref(value))).into_owned()
            };
            let name = |value: &Value<'_>| value.type_name().unwrap_or_default().to_owned();
            let same_kind =
                matches!((a, b), (Value::List(..), Value::List(..)) | (Value::Map(_), Value::Map(_)));
            return Err(if same_kind {
                format!("non-comparable type {}: {}", text(b), name(b)).into()
            } else {
                format!("non-comparable types {}: {}, {}: {}", text(a), name(a), name(b), text(b)).into()
            });
        }
    })
}

fn is_nil(value: &Value<'_>) -> bool {
    match value {
        Value::Nil => true,
        Value::List(data, ..) | Value::Map(data) => data.is_nil(),
        _ => false,
    }
}

fn less(args: &[Value<'_>]) -> Result<bool, Cow<'static, str>> {
    let [a, b] = args else { return Ok(false) };
    let (Some(left), Some(right)) = (basic(a), basic(b)) else { return Err(NO_COMPARISON.into()) };
    let order = match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.partial_cmp(b),
        (Value::Uint(a, _), Value::Uint(b, _)) => a.partial_cmp(b),
        (Value::Int(int), Value::Uint(uint, _)) => i128::from(*int).partial_cmp(&i128::from(*uint)),
        (Value::Uint(uint, _), Value::Int(int)) => i128::from(*uint).partial_cmp(&i128::from(*int)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Text(a), Value::Text(b)) => a.partial_cmp(b),
        _ if left == right => return Err(NO_COMPARISON.into()),
        _ => return Err(incompatible(a, b)),
    };
    Ok(order == Some(Ordering::Less))
}
