//! The order in which upstreams are tried.

use std::sync::atomic::{AtomicU32, Ordering};

use rand::seq::SliceRandom;

#[derive(Debug)]
pub(super) enum Policy {
    Random,
    /// Number of queries so far.
    RoundRobin(AtomicU32),
    Sequential,
}

/// A permutation of the upstreams' indexes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// This one first, the others in their order.
    First(usize),
    Shuffled(Vec<usize>),
}

impl Policy {
    /// Only a query that is `served` counts for the next.
    pub fn order(&self, count: usize, served: bool) -> Order {
        match self {
            Policy::Sequential => Order::First(0),
            // Starts with the second: the counter is incremented before use, as in CoreDNS.
            Policy::RoundRobin(queries) => {
                let before = match served {
                    true => queries.fetch_add(1, Ordering::Relaxed),
                    false => queries.load(Ordering::Relaxed),
                };
                Order::First(before.wrapping_add(1) as usize % count)
            }
            // For one or two, choosing the first is a full shuffle.
            Policy::Random if count <= 2 => Order::First(rand::random_range(0..count)),
            Policy::Random => Order::Shuffled(shuffled(count)),
        }
    }
}

impl Order {
    pub fn at(&self, place: usize) -> usize {
        match self {
            Order::First(first) if place == 0 => *first,
            Order::First(first) if place <= *first => place - 1,
            Order::First(_) => place,
            Order::Shuffled(order) => order[place],
        }
    }
}

fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(&mut rand::rng());
    order
}
