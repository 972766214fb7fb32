//! Generates certificates for TLS servers on loopback.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::error::{Context, Result};

/// A certificate authority.
pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, both as PEM.
pub struct Certificate {
    pub cert: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().context("an authority's key")?;
        let pem = params.self_signed(&key).context("an authority's certificate")?.pem();
        Ok(Self { pem, issuer: Issuer::new(params, key) })
    }

    /// Its own certificate, for trust stores.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Issues a certificate for these names and addresses, valid for servers and clients.
    pub fn issue(&self, names: &[&str]) -> Result<Certificate> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().context("a key")?;
        let params = CertificateParams::new(names).context("names in a certificate")?;
        let cert = params.signed_by(&key, &self.issuer).context("a certificate")?.pem();
        Ok(Certificate { cert, key: key.serialize_pem() })
    }
}
