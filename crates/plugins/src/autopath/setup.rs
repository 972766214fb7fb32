//! `autopath [ZONES...] RESOLV-CONF|@PLUGIN`

use std::path::Path;
use std::sync::OnceLock;

use corefile::Diagnostic;
use server::Setup;
use wire::NameBuf;

use super::Autopath;
use super::counters::Counters;
use crate::host_files::resolv_conf;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let (mut zones, mut path, mut from) = (Vec::new(), Vec::new(), None);
    // Of several directives the last one counts, but a plugin stays once named.
    while s.c.next() {
        let args = s.c.remaining_args();
        let Some((&source, zone_args)) = args.split_last() else {
            let error = s.c.bare_err("no resolv-conf specified");
            return Err(
                error.help("write `autopath @kubernetes`, or name a file with a line `search DOMAIN...`")
            );
        };
        match source.strip_prefix('@') {
            Some(plugin) => from = Some(plugin.to_owned()),
            None => path = read(s, source)?,
        }
        zones = s.zones(zone_args);
    }
    if let Some(plugin) = from.as_deref().filter(|plugin| !s.has_directive(plugin)) {
        let text = format!("autopath has no effect: plugin {plugin} is not in this server block");
        s.warn(s.c.warning(text).in_plugin("autopath"));
    }
    let source = OnceLock::new();
    s.add(Autopath { zones, path, from, source, counters: Counters::new() });
    Ok(())
}

/// The domains of a file, and the root, because a name may be fully qualified.
fn read(s: &Setup<'_>, file: &str) -> Result<Vec<NameBuf>, Diagnostic> {
    let mut path = resolv_conf::search_path(Path::new(file)).map_err(|error| {
        let (name, why) = (golang::quoted(file), golang::system_error(&error));
        s.c.bare_err(format_args!("failed to parse {name}: open {file}: {why}"))
    })?;
    path.push(NameBuf::root());
    Ok(path)
}
