//! `autopath [ZONES...] RESOLV-CONF|@PLUGIN`

use std::path::Path;
use std::sync::OnceLock;

use corefile::Diagnostic;
use server::Setup;
use wire::NameBuf;

use super::Autopath;
use super::counters::Counters;
use crate::resolv_conf;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let (mut zones, mut path, mut from) = (Vec::new(), Vec::new(), None);
    // Of several lines the last one counts, but a plugin once named stays.
    while s.c.next() {
        let args = s.c.remaining_args();
        let Some((&source, of)) = args.split_last() else {
            let error = s.c.bare_err("no resolv-conf specified");
            return Err(error.help("write `autopath @kubernetes`, or a file with a line `search DOMAIN...`"));
        };
        match source.strip_prefix('@') {
            Some(plugin) => from = Some(plugin.to_owned()),
            None => path = read(s, source)?,
        }
        zones = s.zones(of);
    }
    if let Some(plugin) = from.as_deref().filter(|plugin| !s.has_directive(plugin)) {
        let text = format!("there is no plugin {plugin} in this block to ask for search paths");
        s.warn(s.c.warning(text).in_plugin("autopath"));
    }
    let source = OnceLock::new();
    s.add(Autopath { zones, path, from, source, counters: Counters::new() });
    Ok(())
}

/// The domains of a file, and the root, since a name may be complete as it is.
fn read(s: &Setup<'_>, file: &str) -> Result<Vec<NameBuf>, Diagnostic> {
    let mut path = resolv_conf::search_path(Path::new(file)).map_err(|error| {
        let (name, why) = (golang::quoted(file), golang::system_error(&error));
        s.c.bare_err(format_args!("failed to parse {name}: open {file}: {why}"))
    })?;
    path.push(NameBuf::root());
    Ok(path)
}
