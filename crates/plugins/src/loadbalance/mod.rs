//! Reorders addresses in replies, so that clients that use the first one are spread over all.
//!
//! Records are reordered in place, without allocation.

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
    /// Not cryptographic: predicting the order is of no use to an attacker.
    static RANDOM: RefCell<SmallRng> = RefCell::new(rand::make_rng());
}

struct LoadBalance {
    policy: Policy,
    /// Networks whose addresses come first, in order of preference.
    prefer: Vec<Prefix>,
}

enum Policy {
    /// All orders are equally likely.
    RoundRobin,
    /// The first address is drawn by weight, the others keep their order.
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
        visit.note(|_| self.explanation());
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

    fn explanation(&self) -> String {
        let order = match &self.policy {
            Policy::RoundRobin => "addresses shuffled".to_owned(),
            Policy::Weighted(file) => {
                format!("first address drawn by the weights in {}", file.path.display())
            }
        };
        if self.prefer.is_empty() { order } else { format!("{order}, preferred networks first") }
    }
}
