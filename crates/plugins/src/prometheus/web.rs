//! The web configuration file of Prometheus's exporters, as far as it is about TLS. What would have to be obeyed and
//! is not done here yet is refused, above all passwords: a door that looks locked must be.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use server::http::{Clients, Tls};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Web {
    tls_server_config: Option<TlsServer>,
    http_server_config: Option<HttpServer>,
    basic_auth_users: Option<IgnoredAny>,
    rate_limit: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TlsServer {
    cert: String,
    key: String,
    client_ca: String,
    cert_file: String,
    key_file: String,
    client_auth_type: String,
    client_ca_file: String,
    min_version: Option<Version>,
    max_version: Option<Version>,
    /// Go has decided this by itself since 1.17.
    #[serde(rename = "prefer_server_cipher_suites")]
    _prefer_server_cipher_suites: Option<IgnoredAny>,
    client_allowed_sans: Option<IgnoredAny>,
    cipher_suites: Option<IgnoredAny>,
    curve_preferences: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HttpServer {
    /// Clients of metrics are content with HTTP/1.1.
    #[serde(rename = "http2")]
    _http2: Option<bool>,
    headers: Option<IgnoredAny>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    TLS10,
    TLS11,
    TLS12,
    TLS13,
}

/// Reads the file and all it names. None if it does not ask for TLS, which is then off.
pub(super) fn load(file: &Path) -> Result<Option<Tls>, String> {
    let text = read(file).map_err(|error| format!("open {}: {error}", file.display()))?;
    let text = String::from_utf8(text).map_err(|error| format!("yaml: {error}"))?;
    let web: Web = if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
        Web::default()
    } else {
        serde_saphyr::from_str(&text).map_err(|error| format!("yaml: {error}"))?
    };
    let tls = web.tls_server_config.unwrap_or_default();
    let undone = [
        ("basic_auth_users", web.basic_auth_users.is_some()),
        ("rate_limit", web.rate_limit.is_some()),
        ("headers", web.http_server_config.is_some_and(|http| http.headers.is_some())),
        ("client_allowed_sans", tls.client_allowed_sans.is_some()),
        ("cipher_suites", tls.cipher_suites.is_some()),
        ("curve_preferences", tls.curve_preferences.is_some()),
    ];
    if let Some((name, _)) = undone.iter().find(|(_, given)| *given) {
        return Err(format!("{}: {name} is still to come in Rhumb", file.display()));
    }
    if !tls.is_enabled() {
        return Ok(None);
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    let tls = tls.load(folder)?;
    tls.config()?;
    Ok(Some(tls))
}

impl TlsServer {
    fn is_enabled(&self) -> bool {
        let words = [
            &self.cert,
            &self.key,
            &self.client_ca,
            &self.cert_file,
            &self.key_file,
            &self.client_auth_type,
            &self.client_ca_file,
        ];
        words.iter().any(|word| !word.is_empty())
    }

    /// Relative paths begin at the file's own folder.
    fn load(&self, folder: &Path) -> Result<Tls, String> {
        if self.cert_file.is_empty() && self.cert.is_empty() {
            return Err("missing one of cert or cert_file".into());
        }
        if self.key_file.is_empty() && self.key.is_empty() {
            return Err("missing one of key or key_file".into());
        }
        let certificates = pem("cert_file", folder, &self.cert_file, &self.cert)?;
        let key = pem("key_file", folder, &self.key_file, &self.key)?;
        let lowest = self.min_version.unwrap_or(Version::TLS12);
        let highest = self.max_version.unwrap_or(Version::TLS13);
        Ok(Tls {
            certificates,
            key,
            clients: self.clients(folder)?,
            tls12: lowest <= Version::TLS12 && highest >= Version::TLS12,
            tls13: highest >= Version::TLS13,
        })
    }

    fn clients(&self, folder: &Path) -> Result<Clients, String> {
        let given = !self.client_ca_file.is_empty() || !self.client_ca.is_empty();
        let authorities = || match given {
            true => pem("client_ca_file", folder, &self.client_ca_file, &self.client_ca),
            false => Err("client certificates can be checked only against a client_ca_file".to_owned()),
        };
        match self.client_auth_type.as_str() {
            "" | "NoClientCert" if given => {
                Err("client CA's have been configured without a Client Auth Policy".into())
            }
            // What is only asked for, and not looked at, need not be asked for.
            "" | "NoClientCert" | "RequestClientCert" => Ok(Clients::Anyone),
            "VerifyClientCertIfGiven" => authorities().map(Clients::VerifiedIfGiven),
            "RequireAndVerifyClientCert" => authorities().map(Clients::Verified),
            unchecked @ ("RequireAnyClientCert" | "RequireClientCert") => Err(format!(
                "client_auth_type {unchecked} lets every certificate in; use RequireAndVerifyClientCert"
            )),
            other => Err(format!("invalid ClientAuth: {other}")),
        }
    }
}

/// A file's content, or what stands in the configuration itself.
fn pem(option: &str, folder: &Path, file: &str, inline: &str) -> Result<Vec<u8>, String> {
    if file.is_empty() {
        return Ok(inline.as_bytes().to_vec());
    }
    let path = folder.join(file);
    let shown = path.display();
    read(&path).map_err(|error| format!("failed to read {option} ({shown}): open {shown}: {error}"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| golang::system_error(&error).to_string())
}
