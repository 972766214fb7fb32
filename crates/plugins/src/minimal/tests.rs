use std::sync::Arc;

use server::{Availability, Input, Plugin, PluginSpec, Service, Setup, Step, Visit, config};
use wire::{Opt, Owner, Rcode, Rtype, Section};

use super::is_valid_at;
use crate::testing::harness::{answer, configure, refused};

/// Answers every query with an rcode and records: `fixed NXDOMAIN authority:SOA`.
struct Fixed(Rcode, Vec<(Section, Rtype)>);

impl Plugin for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let Fixed(rcode, records) = self;
        let reply = visit.begin();
        reply.rcode = *rcode;
        for (section, rtype) in records {
            reply.push(*section, Owner::Question(0), *rtype, 5, &[]);
        }
        reply.opt = Some(Opt::new(700, true));
        Step::Answer
    }
}

fn setup_fixed(s: &mut Setup<'_>) -> Result<(), corefile::Diagnostic> {
    s.c.next();
    let args = s.c.remaining_args();
    let record = |arg: &&str| {
        let (section, rtype) = arg.split_once(':').expect("section:type");
        let section = match section {
            "answer" => Section::Answer,
            "authority" => Section::Authority,
            _ => Section::Additional,
        };
        (section, Rtype::from_mnemonic(rtype).expect("a type"))
    };
    let records = args[1..].iter().map(record).collect();
    s.add(Fixed(Rcode::from_mnemonic(args[0]).expect("a code"), records));
    Ok(())
}

static PLUGINS: &[PluginSpec] = &[
    PluginSpec { name: "minimal", about: "", availability: Availability::Available(super::setup) },
    PluginSpec { name: "fixed", about: "", availability: Availability::Available(setup_fixed) },
];

fn service(fixed: &str) -> Arc<Service> {
    let contents = format!(". {{\nminimal\nfixed {fixed}\n}}").into_bytes();
    let input = Input { name: "Corefile".into(), contents, dns_port: "53".into() };
    let config =
        config::build(&input, PLUGINS, &corefile::Disk).map_err(|errors| errors[0].to_string()).unwrap();
    config.services().next().unwrap().1.clone()
}

#[test]
fn remaining_sections() {
    for (what, fixed, question, expected) in [
        ("success", "NOERROR answer:A authority:NS additional:A", "a. A", "answer:"),
        ("success with EDNS", "NOERROR answer:A authority:NS additional:A", "a. A size=4096", "answer: opt:"),
        ("nothing but extras", "NOERROR additional:A", "a. A", ""),
        ("no data", "NOERROR authority:SOA additional:A", "a. A", "authority: additional: opt: do"),
        ("referral", "NOERROR authority:NS additional:A", "a. A", "authority: additional: opt: do"),
        ("no such name", "NXDOMAIN authority:SOA", "a. A", "authority: opt: do"),
        (
            "alias to no such name",
            "NXDOMAIN answer:CNAME additional:A",
            "a. A",
            "answer: additional: opt: do",
        ),
        ("failure", "SERVFAIL additional:A", "a. A", "additional: opt: do"),
        ("refusal", "REFUSED additional:A", "a. A", "additional: opt: do"),
        ("transfer", "NOERROR answer:SOA authority:NS", "a. AXFR tcp", "answer: authority: opt: do"),
        ("notify", "NOERROR answer:SOA authority:NS", "a. SOA notify", "answer: authority: opt: do"),
        ("stale signature", "NOERROR answer:RRSIG additional:A", "a. A", "answer: additional: opt: do"),
    ] {
        let text = answer(&service(fixed), question);
        let words = text.split_whitespace().filter(|word| word.ends_with(':') || *word == "do");
        assert_eq!(words.collect::<Vec<_>>().join(" "), expected, "{what}");
    }
}

#[test]
fn rfc4034_3_1_5_signature_times() {
    for (inception, expiration, now, in_time) in [
        (100u32, 200u32, 100, true),
        (100, 200, 200, true),
        (100, 200, 99, false),
        (100, 200, 201, false),
        // The 32-bit clock wraps in 2106.
        (u32::MAX, 20, 15, true),
        (u32::MAX, 20, 25, false),
        (u32::MAX - 1, 20, u32::MAX, true),
    ] {
        let mut data = vec![0; 8];
        data.extend_from_slice(&expiration.to_be_bytes());
        data.extend_from_slice(&inception.to_be_bytes());
        assert_eq!(is_valid_at(&data, now), in_time, "{inception}..{expiration} at {now}");
    }
}

#[test]
fn options() {
    assert!(configure(". {\nminimal\nminimal\n}").is_ok());
    let at = "plugin/minimal: Corefile:2 - Error during parsing: ";
    assert_eq!(
        refused(". {\nminimal x\n}"),
        format!("{at}Wrong argument count or unexpected line ending after 'x'")
    );
    assert_eq!(refused(". {\nminimal {\n}\n}"), format!("{at}Unexpected token '{{', expecting argument"));
}
