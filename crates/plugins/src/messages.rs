//! What several plugins do with names, queries and replies.

pub(crate) mod distinct;
pub(crate) mod expression;
pub(crate) mod kind;
pub(crate) mod name_text;
pub(crate) mod packet;
pub(crate) mod records;
pub(crate) mod reverse;
pub(crate) mod translation;
