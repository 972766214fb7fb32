//! Integration tests, a module per subject: one binary, since each binary costs a link of everything.

mod cluster;
mod compare_kubernetes_self;
mod coredns_self;
mod layers;
