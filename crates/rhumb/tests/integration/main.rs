//! Integration tests, a module per subject: one binary, since each binary costs a link of everything.
#![allow(clippy::unwrap_used, reason = "a panic here is a failed test, with its place")]

mod autopath_pods;
mod cli;
mod compare_dnstap;
mod compare_expressions;
mod compare_kubernetes;
mod compare_kubernetes_changes;
mod compare_metrics;
mod compare_plugins;
mod compare_proxyproto;
mod compare_recipes;
mod compare_resolver;
mod compare_scripts;
mod compare_templates;
mod compare_verdicts;
mod compare_zones;
mod deploy;
mod example;
mod explain_cluster;
mod explain_unknown;
mod faults;
mod five_blocks;
mod forward_encrypted;
mod image;
mod kubernetes;
mod listen;
mod load_ends;
mod load_memory;
mod load_outage;
mod load_reload;
mod rbac;
mod reload_atomic;
mod reload_keeps;
mod silent_clusters;
mod trace;
