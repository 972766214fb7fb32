//! What can be fuzzed.

use crate::shape::Shape;

/// Some code with promises about any input.
pub trait Target {
    /// As `--target` and the folder of its corpus spell it.
    fn name(&self) -> &'static str;

    /// No input is longer than this.
    fn max_len(&self) -> usize;

    /// Pieces worth inserting: what a blind bit flip would never spell.
    fn dictionary(&self) -> &'static [&'static [u8]];

    /// Runs the code on `input`. An error is a broken promise; a panic is one too.
    fn check(&mut self, input: &[u8]) -> Result<Shape, String>;
}
