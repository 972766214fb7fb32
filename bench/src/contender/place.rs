//! Where one server runs, and how its configuration learns of it.

use std::net::SocketAddr;
use std::path::Path;

use testkit::error::{Context, Result};
use testkit::ports;

use crate::population::Zone;
use crate::workload::Workload;

pub struct Place<'a> {
    pub folder: &'a Path,
    pub addr: SocketAddr,
    /// Where metrics are, if it has some.
    pub metrics: SocketAddr,
    pub upstream: SocketAddr,
}

impl Place<'_> {
    /// Writes a configuration and what it reads into the folder. In the configuration `{port}` becomes the server's
    /// port, `{metrics}` that of its metrics, `{upstream}` the upstream's, and each `{free}` another that nobody has.
    pub fn write(&self, name: &str, configuration: &str, workload: &Workload) -> Result<()> {
        let mut text = configuration
            .replace("{port}", &self.addr.port().to_string())
            .replace("{metrics}", &self.metrics.port().to_string())
            .replace("{upstream}", &self.upstream.port().to_string());
        while text.contains("{free}") {
            text = text.replacen("{free}", &ports::free()?.to_string(), 1);
        }
        std::fs::write(self.folder.join(name), text).context(name)?;
        for (name, text) in &workload.files {
            std::fs::write(self.folder.join(name), text).context(name)?;
        }
        Ok(())
    }
    /// Writes a zone and gives the name of its file.
    pub fn write_zone(&self, zone: &Zone) -> Result<String> {
        let file = format!("{}.zone", zone.name);
        std::fs::write(self.folder.join(&file), zone.text()).context(&file)?;
        Ok(file)
    }
}
