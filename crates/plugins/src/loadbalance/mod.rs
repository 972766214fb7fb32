//! Changes the order of addresses in replies, so that clients that take the first one spread over all.
//!
//! Records are moved where they are: a reply is the worker's own, and nothing is allocated.

mod order;
mod prefer;
mod setup;
#[cfg(test)]
mod tests;
mod weights;

use std::cell::RefCell;
use std::sync::Arc;

use corefile::reverse::Prefix;
use rand::rngs::SmallRng;
use server::{Hooks, Plugin, Turn, Visit, log};
use wire::{Question, Rcode, Reply, Rtype, Section};

pub(crate) use setup::setup;
use weights::WeightFile;

const LOG: log::Logger = log::plugin("loadbalance");

thread_local! {
    /// Nobody gains anything from guessing which address comes first, so the cheap generator will do.
    static RANDOM: RefCell<SmallRng> = RefCell::new(rand::make_rng());
}

struct LoadBalance {
    policy: Policy,
    /// Networks whose addresses come first, the most wanted ones before the others.
    prefer: Vec<Prefix>,
}

enum Policy {
    /// All orders are equally likely.
    RoundRobin,
    /// The first address is drawn by weight, the others stay.
    Weighted(Arc<WeightFile>),
}

impl Plugin for LoadBalance {
    fn name(&self) -> &'static str {
        "loadbalance"
    }

    fn hooks(&self) -> Hooks {
        Hooks::RECORDS
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let question = &visit.query.question;
        // One record has no order.
        if visit.reply.records().len() < 2
            || visit.reply.rcode != Rcode::NOERROR
            || matches!(question.qtype, Rtype::AXFR | Rtype::IXFR)
        {
            return Turn::Up;
        }
        RANDOM.with_borrow_mut(|random| self.balance(question, visit.reply, random));
        visit.note(|_| self.what_was_done());
        Turn::Up
    }
}

impl LoadBalance {
    fn balance(&self, question: &Question, reply: &mut Reply, random: &mut SmallRng) {
        match &self.policy {
            Policy::RoundRobin => {
                for section in [Section::Answer, Section::Authority, Section::Additional] {
                    order::shuffle(reply, section, random);
                }
            }
            Policy::Weighted(file) if matches!(question.qtype, Rtype::A | Rtype::AAAA | Rtype::SRV) => {
                let weights = file.weights();
                for section in [Section::Answer, Section::Additional] {
                    order::draw(reply, section, random, |reply, record| {
                        weights.of(reply.owner(record, question.name()), reply.data(record))
                    });
                }
            }
            Policy::Weighted(_) => {}
        }
        if !self.prefer.is_empty() {
            prefer::sort(reply, Section::Answer, &self.prefer);
            prefer::sort(reply, Section::Additional, &self.prefer);
        }
    }

    fn what_was_done(&self) -> String {
        let done = match &self.policy {
            Policy::RoundRobin => "shuffled the addresses".to_owned(),
            Policy::Weighted(file) => format!("drew the first address by {}", file.path.display()),
        };
        if self.prefer.is_empty() { done } else { format!("{done}, preferred networks first") }
    }
}
