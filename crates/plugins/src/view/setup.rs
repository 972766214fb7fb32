//! `view NAME { expr EXPRESSION }`

use corefile::Diagnostic;
use expr::Program;
use server::{BlockFilter, Metadata, Setup};

use super::View;
use crate::messages::expression::environment;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let environment = environment();
    let mut view = None;
    while s.c.next() {
        if view.is_some() {
            return Err(s.once_error());
        }
        let &[name] = &s.c.remaining_args()[..] else { return Err(s.c.arg_err()) };
        let mut conditions = Vec::new();
        while s.c.next_block() {
            match s.c.val() {
                "expr" => {
                    let source = s.c.remaining_args().join(" ");
                    let condition =
                        Program::compile(&source, &environment).map_err(|error| s.c.bare_err(error))?;
                    conditions.push(condition);
                }
                unknown => return Err(s.c.err(format_args!("unknown property '{unknown}'"))),
            }
        }
        view = Some(View { name: name.to_owned(), conditions });
    }
    if let Some(view) = view {
        let view = s.add(view);
        s.offer::<dyn BlockFilter>(view.clone());
        s.offer::<dyn Metadata>(view);
    }
    Ok(())
}
