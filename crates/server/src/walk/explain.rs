//! Notes for `explain`: why an answer is what it is.

/// One decision of one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The plugin that decided; `server` for the choice of block.
    pub plugin: &'static str,
    /// 0 for the query itself, more for look-ups it caused and for steps of a decision.
    pub depth: u8,
    pub text: String,
    /// The plugin's data are incomplete: a name it takes for missing may exist.
    pub incomplete: bool,
}

impl Note {
    pub(crate) fn new(plugin: &'static str, depth: u8, text: String) -> Note {
        Note { plugin, depth, text, incomplete: false }
    }
}
