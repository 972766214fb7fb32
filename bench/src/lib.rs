//! What all measurements share: the machine they run on, kubeadm's Corefile, and the middle of many numbers.

pub mod kubeadm;
pub mod machine;
pub mod spread;
