//! `autopath [ZONES...] RESOLV-CONF|@PLUGIN`

use std::path::Path;
use std::sync::Arc;

use corefile::Diagnostic;
use server::{SearchPath, Setup};
use wire::NameBuf;

use super::{Autopath, NAME, ReturnsCode};
use crate::host_files::resolv_conf;
use crate::server_counter::ServerCounter;

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
        s.warn(s.c.warning(text).in_plugin(NAME));
    }
    let wrong = s.c.bare_err(format_args!(
        "{} does not implement the AutoPather interface",
        from.as_deref().unwrap_or_default()
    ));
    s.add_linked(NAME, move |link| {
        let from = from.as_deref().filter(|from| link.chain().contains(from));
        let paths = link.offers::<dyn SearchPath>();
        let source = from.map(|from| paths.into_iter().find(|offered| offered.plugin == from).ok_or(wrong));
        let codes = link.offers::<ReturnsCode>();
        let help = "Counter of requests that did autopath.";
        Ok(Arc::new(Autopath {
            zones,
            path,
            source: source.transpose()?.map(|offered| offered.value),
            returning_codes: codes.iter().filter_map(|offered| offered.position).collect(),
            searched: ServerCounter::new("coredns_autopath_success_total", help, link),
        }))
    });
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
