//! Signs service account tokens with any expiry, as the API server does, which issues none for less than ten minutes.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::objects::{name_of, namespace_of, text};
use crate::error::{Context, Result};

/// The API server accepts a token for this long after its expiry, as clocks differ.
const LEEWAY: Duration = Duration::from_secs(60);

/// Signs tokens of one service account.
pub struct Signer {
    key: EcdsaKeyPair,
    account: Value,
    issuer: String,
}

impl Signer {
    /// `key` is a file; `account` is the ServiceAccount as stored by the API server.
    pub(super) fn new(key: &Path, account: Value, issuer: &str) -> Result<Self> {
        let der = PrivatePkcs8KeyDer::from_pem_file(key).context(key.display())?;
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.secret_pkcs8_der())
            .context(key.display())?;
        Ok(Self { key, account, issuer: issuer.to_owned() })
    }

    /// A token that the API server accepts until a time, to the second.
    pub fn token(&self, until: SystemTime) -> Result<String> {
        let until = until.duration_since(UNIX_EPOCH).context("the time of expiry")?;
        let expires = until.saturating_sub(LEEWAY);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the time")?;
        let issued = expires.min(now).saturating_sub(LEEWAY).as_secs();
        let (name, namespace) = (name_of(&self.account), namespace_of(&self.account));
        let claims = json!({
            "iss": self.issuer,
            "aud": [self.issuer],
            "sub": format!("system:serviceaccount:{namespace}:{name}"),
            "iat": issued,
            "nbf": issued,
            "exp": expires.as_secs(),
            "kubernetes.io": {
                "namespace": namespace,
                "serviceaccount": {"name": name, "uid": text(&self.account, "/metadata/uid")},
            },
        });
        let encoded = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encoded(&json!({"alg": "ES256", "typ": "JWT"})), encoded(&claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).context("signing a token")?;
        Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
    }
}
