//! `tls_server_config`.

use std::path::Path;

use ::tls::{Authorities, ClientAuth, ServerSettings};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::file_cache::FileCache;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Section {
    cert: String,
    key: String,
    client_ca: String,
    cert_file: String,
    key_file: String,
    client_auth_type: String,
    client_ca_file: String,
    client_allowed_sans: Option<Vec<String>>,
    min_version: Option<Version>,
    max_version: Option<Version>,
    cipher_suites: Option<Vec<String>>,
    curve_preferences: Option<Vec<Curve>>,
    /// Ignored, as Go has done since 1.17.
    #[serde(rename = "prefer_server_cipher_suites")]
    _prefer_server_cipher_suites: Option<IgnoredAny>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    TLS10,
    TLS11,
    TLS12,
    TLS13,
}

#[derive(Clone, Copy, Deserialize)]
enum Curve {
    CurveP256,
    CurveP384,
    CurveP521,
    X25519,
}

/// Go's secure cipher suites; Prometheus rejects others as unknown.
const CIPHER_SUITES: &[&str] = &[
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
];

impl Section {
    pub fn is_enabled(&self) -> bool {
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

    pub fn load(&self, folder: &Path, http2: bool, files: &FileCache) -> Result<ServerSettings, String> {
        if self.cert_file.is_empty() && self.cert.is_empty() {
            return Err("missing one of cert or cert_file".into());
        }
        if self.key_file.is_empty() && self.key.is_empty() {
            return Err("missing one of key or key_file".into());
        }
        let certificates = pem("cert_file", folder, &self.cert_file, &self.cert, files)?;
        let key = pem("key_file", folder, &self.key_file, &self.key, files)?;
        let (tls12, tls13) = self.versions()?;
        let clients = self.clients(folder, files)?;
        let cipher_suites = self.cipher_suites()?;
        let protocols: &[&[u8]] = if http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
        Ok(ServerSettings {
            certificates,
            key,
            client_auth: clients,
            tls12,
            tls13,
            cipher_suites,
            groups: self.groups(),
            protocols: protocols.iter().map(|name| name.to_vec()).collect(),
        })
    }

    /// Whether TLS 1.2 and 1.3 are enabled. A lower minimum is harmless: rustls has no older versions.
    fn versions(&self) -> Result<(bool, bool), String> {
        let lowest = self.min_version.unwrap_or(Version::TLS12);
        let highest = self.max_version.unwrap_or(Version::TLS13);
        if highest < Version::TLS12 {
            return Err(
                "max_version: versions below TLS 1.2 are not supported; set TLS12 or TLS13, or remove it"
                    .into(),
            );
        }
        if lowest > highest {
            return Err("min_version is above max_version; lower it".into());
        }
        Ok((lowest <= Version::TLS12, highest >= Version::TLS13))
    }

    fn cipher_suites(&self) -> Result<Option<Vec<String>>, String> {
        let Some(names) = self.cipher_suites.as_ref().filter(|names| !names.is_empty()) else {
            return Ok(None);
        };
        match names.iter().find(|name| !CIPHER_SUITES.contains(&name.as_str())) {
            Some(unknown) => Err(format!("cipher_suites: unknown cipher: {unknown}")),
            None => Ok(Some(names.clone())),
        }
    }

    /// The curves by their names in TLS.
    fn groups(&self) -> Option<Vec<String>> {
        let curves = self.curve_preferences.as_ref().filter(|curves| !curves.is_empty())?;
        let name = |curve: &Curve| match curve {
            Curve::CurveP256 => "secp256r1",
            Curve::CurveP384 => "secp384r1",
            Curve::CurveP521 => "secp521r1",
            Curve::X25519 => "X25519",
        };
        Some(curves.iter().map(|curve| name(curve).to_owned()).collect())
    }

    fn clients(&self, folder: &Path, files: &FileCache) -> Result<ClientAuth, String> {
        let given = !self.client_ca_file.is_empty() || !self.client_ca.is_empty();
        let (required, verified) = match self.client_auth_type.as_str() {
            "" | "NoClientCert" if given => {
                return Err("client CA's have been configured without a Client Auth Policy".into());
            }
            "" | "NoClientCert" if self.client_allowed_sans.is_some() => {
                return Err("client_allowed_sans: client_auth_type requests no certificates; \
                            set it to RequireAndVerifyClientCert"
                    .into());
            }
            "" | "NoClientCert" => return Ok(ClientAuth::default()),
            "RequestClientCert" => (false, false),
            "RequireAnyClientCert" | "RequireClientCert" => (true, false),
            "VerifyClientCertIfGiven" => (false, true),
            "RequireAndVerifyClientCert" => (true, true),
            other => return Err(format!("invalid ClientAuth: {other}")),
        };
        let signed_by = match (verified, given) {
            (false, _) => None,
            (true, false) => Some(Authorities::System),
            (true, true) => {
                let pem = pem("client_ca_file", folder, &self.client_ca_file, &self.client_ca, files)?;
                Some(Authorities::Pem(pem))
            }
        };
        Ok(ClientAuth { requested: true, required, signed_by, names: self.client_allowed_sans.clone() })
    }
}

/// The contents of the file, or the PEM in the configuration itself.
fn pem(option: &str, folder: &Path, file: &str, inline: &str, files: &FileCache) -> Result<Vec<u8>, String> {
    if file.is_empty() {
        return Ok(inline.as_bytes().to_vec());
    }
    let path = folder.join(file);
    let shown = path.display();
    files.read(&path).map_err(|error| format!("failed to read {option} ({shown}): open {shown}: {error}"))
}
