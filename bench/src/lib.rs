//! What all measurements share: the machine they run on, and the middle of many numbers.

pub mod machine;
pub mod spread;
