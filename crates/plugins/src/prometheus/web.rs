//! The web configuration file of Prometheus's exporters: TLS, passwords, headers and a limit on requests. What cannot
//! be obeyed is refused: a door that looks locked must be.

mod last_read;
mod rules;
#[cfg(test)]
pub(super) mod tests;
mod tls;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use server::http::{Rules, Tls, WebSource};

use last_read::LastRead;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Web {
    tls_server_config: Option<tls::Section>,
    http_server_config: Option<rules::HttpSection>,
    basic_auth_users: Option<rules::Users>,
    rate_limit: Option<rules::RateSection>,
}

/// A file that was good when it was opened, and is read again whenever it matters.
pub(super) struct WebFile {
    path: PathBuf,
    /// It asked for TLS, which is decided once: a file that lost its certificate is wrong, not a wish to talk in the
    /// clear.
    secure: bool,
    /// This file and those it names.
    files: LastRead,
}

impl WebFile {
    /// Checks the file and all it names.
    pub fn open(path: &Path) -> Result<WebFile, String> {
        let mut file = WebFile { path: path.to_owned(), secure: false, files: LastRead::default() };
        file.rules()?;
        if let Some(tls) = file.certificate()? {
            tls.config().map_err(|error| file.named(error))?;
            file.secure = true;
        }
        Ok(file)
    }

    fn certificate(&self) -> Result<Option<Tls>, String> {
        let web = self.read()?;
        let http2 = web.http_server_config.unwrap_or_default().http2();
        let section = web.tls_server_config.unwrap_or_default();
        if !section.is_enabled() {
            return Ok(None);
        }
        // Relative paths begin at the file's own folder.
        let folder = self.path.parent().unwrap_or(Path::new(""));
        section.load(folder, http2, &self.files).map(Some).map_err(|error| self.named(error))
    }

    fn read(&self) -> Result<Web, String> {
        let text =
            self.files.read(&self.path).map_err(|error| format!("open {}: {error}", self.path.display()))?;
        let text = String::from_utf8(text).map_err(|error| self.named(format!("yaml: {error}")))?;
        if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
            return Ok(Web::default());
        }
        serde_saphyr::from_str(&text).map_err(|error| self.named(format!("yaml: {error}")))
    }

    fn named(&self, error: String) -> String {
        format!("{}: {error}", self.path.display())
    }
}

impl WebSource for WebFile {
    fn tls(&self) -> Result<Option<Tls>, String> {
        if !self.secure {
            return Ok(None);
        }
        self.certificate()?.map(Some).ok_or_else(|| self.named("TLS config is not present".to_owned()))
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
        rules().map_err(|error| self.named(error))
    }
}
