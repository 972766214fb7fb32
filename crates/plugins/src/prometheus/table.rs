//! The cells of one block: a row of zones for each address it is served on.

use std::sync::Arc;

use wire::{Name, NameBuf};

use super::cells::Cells;
use super::families::Families;

pub(super) struct Table {
    servers: Vec<String>,
    /// Longest first, so that the first match is the longest; the root, which matches all names, is last.
    zones: Vec<NameBuf>,
    /// By server, then by zone.
    cells: Vec<Cells>,
}

impl Table {
    pub fn new<'s>(
        families: &Arc<Families>,
        servers: impl Iterator<Item = &'s str>,
        zones: &[String],
        view: &str,
        plugins: &[&'static str],
    ) -> Table {
        let mut servers: Vec<String> = servers.map(str::to_owned).collect();
        servers.sort();
        servers.dedup();
        let root = (NameBuf::root(), ".");
        let mut zones: Vec<(NameBuf, &str)> = zones
            .iter()
            .filter_map(|text| Some((NameBuf::parse(text).ok()?, text.as_str())))
            .filter(|(zone, _)| !zone.as_name().is_root())
            .chain([root])
            .collect();
        zones.sort_by_key(|(zone, _)| std::cmp::Reverse(zone.as_name().label_count()));
        let cells = servers
            .iter()
            .flat_map(|server| {
                zones.iter().map(|(_, zone)| Cells::new(families, server, zone, view, plugins))
            })
            .collect();
        Table { servers, zones: zones.into_iter().map(|(zone, _)| zone).collect(), cells }
    }

    /// Index of the cells for a server and a name in lower case; None if the block is not on that server.
    pub fn find(&self, server: &str, name: Name<'_>) -> Option<usize> {
        // Fast path: most blocks have one server and serve the root zone.
        if self.cells.len() == 1 {
            return Some(0);
        }
        let server = self.servers.iter().position(|known| known == server)?;
        let zone = self.zones.iter().position(|zone| name.is_under(zone.as_name()))?;
        Some(server * self.zones.len() + zone)
    }

    pub fn cells(&self, at: usize) -> Option<&Cells> {
        self.cells.get(at)
    }
}
