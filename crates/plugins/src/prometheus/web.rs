//! The web configuration file of Prometheus's exporters: TLS, passwords, headers and a rate limit. A setting that
//! cannot be enforced is an error, so that no restriction is silently missing.

mod file_cache;
mod rules;
#[cfg(test)]
pub(super) mod tests;
mod tls;

use std::path::{Path, PathBuf};

use ::tls::ServerSettings;
use serde::Deserialize;
use server::http::{Rules, WebSource};

use file_cache::FileCache;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WebConfig {
    tls_server_config: Option<tls::Section>,
    http_server_config: Option<rules::HttpSection>,
    basic_auth_users: Option<rules::Users>,
    rate_limit: Option<rules::RateSection>,
}

/// A file that was valid when it was opened; read again for every request, and when certificates are checked for changes.
pub(super) struct WebFile {
    path: PathBuf,
    /// The file had a TLS section when it was opened. One that lost it later is an error, not a request for plain HTTP.
    requires_tls: bool,
    /// This file and the files it refers to.
    files: FileCache,
}

impl WebFile {
    /// Reads and validates the file and the files it refers to.
    pub fn open(path: &Path) -> Result<WebFile, String> {
        let mut file = WebFile { path: path.to_owned(), requires_tls: false, files: FileCache::default() };
        file.rules()?;
        if let Some(tls) = file.load_tls()? {
            tls.config().map_err(|error| file.with_path(error))?;
            file.requires_tls = true;
        }
        Ok(file)
    }

    fn load_tls(&self) -> Result<Option<ServerSettings>, String> {
        let web = self.read()?;
        let http2 = web.http_server_config.unwrap_or_default().http2();
        let section = web.tls_server_config.unwrap_or_default();
        if !section.is_enabled() {
            return Ok(None);
        }
        // Paths are relative to the file's own folder.
        let folder = self.path.parent().unwrap_or(Path::new(""));
        section.load(folder, http2, &self.files).map(Some).map_err(|error| self.with_path(error))
    }

    fn read(&self) -> Result<WebConfig, String> {
        let text =
            self.files.read(&self.path).map_err(|error| format!("open {}: {error}", self.path.display()))?;
        let text = String::from_utf8(text).map_err(|error| self.with_path(format!("yaml: {error}")))?;
        if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
            return Ok(WebConfig::default());
        }
        serde_saphyr::from_str(&text).map_err(|error| self.with_path(format!("yaml: {error}")))
    }

    fn with_path(&self, error: String) -> String {
        format!("{}: {error}", self.path.display())
    }
}

impl WebSource for WebFile {
    fn tls(&self) -> Result<Option<ServerSettings>, String> {
        if !self.requires_tls {
            return Ok(None);
        }
        self.load_tls()?.map(Some).ok_or_else(|| self.with_path("TLS config is not present".to_owned()))
    }

    fn rules(&self) -> Result<Rules, String> {
        let web = self.read()?;
        let rules = || {
            Ok(Rules {
                headers: web.http_server_config.unwrap_or_default().headers()?,
                users: rules::users(web.basic_auth_users.unwrap_or_default())?,
                rate: web.rate_limit.unwrap_or_default().rate()?,
            })
        };
        rules().map_err(|error| self.with_path(error))
    }
}
