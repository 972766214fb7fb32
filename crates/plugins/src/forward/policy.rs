//! In which order upstreams are asked.

use std::sync::atomic::{AtomicU32, Ordering};

use rand::seq::SliceRandom;

#[derive(Debug)]
pub(super) enum Policy {
    Random,
    /// How many queries came so far.
    RoundRobin(AtomicU32),
    Sequential,
}

/// An order of the numbers below some count.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// One goes before the others, which stay as they are.
    First(usize),
    Shuffled(Vec<usize>),
}

impl Policy {
    pub fn order(&self, count: usize) -> Order {
        match self {
            Policy::Sequential => Order::First(0),
            // The second comes first: the counter is raised before it is looked at, as in CoreDNS.
            Policy::RoundRobin(queries) => {
                let number = queries.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
                Order::First(number as usize % count)
            }
            // Of one or two, to put one first is all there is to shuffle.
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
