//! Why an answer is what it is: the notes plugins leave when somebody asked for them.

/// One decision of one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Who decided; `server` for the choice of block.
    pub plugin: &'static str,
    /// 0 for the query itself, more for look-ups it caused.
    pub depth: u8,
    pub text: String,
    /// The plugin does not know its source completely: what it takes for missing may be there.
    pub incomplete: bool,
}

impl Note {
    pub(crate) fn new(plugin: &'static str, depth: u8, text: String) -> Note {
        Note { plugin, depth, text, incomplete: false }
    }
}
