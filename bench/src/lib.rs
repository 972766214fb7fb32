//! Shared by all measurements: the machine, kubeadm's Corefile, and medians.

pub mod kubeadm;
pub mod machine;
pub mod spread;
