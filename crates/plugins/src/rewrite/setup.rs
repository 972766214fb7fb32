//! `rewrite [continue|stop] FIELD ...`; the arguments after the first may be in a block.

use corefile::Diagnostic;
use golang::quoted;
use server::Setup;

use super::cname::Cname;
use super::edns0::Edns0;
use super::name::Name;
use super::rcode::RcodeRule;
use super::swap::{ClassRule, Type};
use super::ttl::Ttl;
use super::{Field, Rewrite, Rule};

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut rules = Vec::new();
    while s.c.next() {
        let mut args: Vec<String> = s.c.remaining_args().iter().map(|word| (*word).to_owned()).collect();
        if args.len() < 2 {
            while s.c.next_block() {
                args.push(s.c.val().to_owned());
            }
        }
        rules.push(rule(&args).map_err(|error| s.c.bare_err(error))?);
    }
    let mut reflected: Vec<u16> = rules.iter().filter_map(Rule::reflected).collect();
    reflected.sort_unstable();
    reflected.dedup();
    s.add(Rewrite { rules, reflected: reflected.into() });
    Ok(())
}

fn rule(args: &[String]) -> Result<Rule, String> {
    let Some(first) = args.first() else {
        return Err("no rule type specified for rewrite".into());
    };
    let word = first.to_lowercase();
    let (stop, rest) = match word.as_str() {
        "continue" => (false, args.get(1..)),
        "stop" => (true, args.get(1..)),
        _ => (true, Some(args)),
    };
    let Some([field, rest @ ..]) = rest else {
        return Err(format!("{word} rule must begin with a rule type"));
    };
    let field = match field.to_lowercase().as_str() {
        "answer" => return Err("response rewrites must begin with a name rule".into()),
        "name" => Field::Name(Name::parse(rest)?),
        "class" => Field::Class(ClassRule::parse(rest)?),
        "type" => Field::Type(Type::parse(rest)?),
        "edns0" => Field::Edns0(Edns0::parse(rest)?),
        "ttl" => Field::Ttl(Ttl::parse(rest)?),
        "cname" => Field::Cname(Cname::parse(rest)?.into()),
        "rcode" => Field::Rcode(RcodeRule::parse(rest)?),
        _ => return Err(format!("invalid rule type {}", quoted(first))),
    };
    Ok(Rule { field, stop, text: args.join(" ") })
}
