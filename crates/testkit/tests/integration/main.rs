//! Tests of this crate from outside, a module per subject: one binary, since each costs a link of everything.

mod cluster;
mod compare_kubernetes_self;
mod coredns_self;
mod layers;
