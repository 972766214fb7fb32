//! One server's folder and addresses, and its configuration files.

use std::net::SocketAddr;
use std::path::Path;

use testkit::error::{Context, Result};
use testkit::ports;

use crate::population::Zone;
use crate::workload::Workload;

pub struct Instance<'a> {
    pub folder: &'a Path,
    pub addr: SocketAddr,
    /// The address of its metrics, if it has any.
    pub metrics: SocketAddr,
    pub upstream: SocketAddr,
}

impl Instance<'_> {
    /// Writes a configuration and its files into the folder. In the configuration `{port}` becomes the server's port,
    /// `{metrics}` that of its metrics, `{upstream}` the upstream's, and each `{free}` another free port.
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
    /// Writes a zone and returns the name of its file.
    pub fn write_zone(&self, zone: &Zone) -> Result<String> {
        let file = format!("{}.zone", zone.name);
        std::fs::write(self.folder.join(&file), zone.text()).context(&file)?;
        Ok(file)
    }
}
