//! Credentials of a test cluster: an admin token, a client certificate, and the service account key.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

use crate::error::{Context, Result};

/// A bearer token with admin rights.
pub(super) const TOKEN: &str = "rhumb-test-admin";

pub(super) const TOKENS: &str = "tokens.csv";
pub(super) const SERVICE_ACCOUNT_KEY: &str = "service-account.key";
pub(super) const SERVICE_ACCOUNT_PUBLIC: &str = "service-account.pub";
/// Signs client certificates.
pub(super) const CLIENT_CA: &str = "client-ca.crt";
pub(super) const CLIENT_CERTIFICATE: &str = "client.crt";
pub(super) const CLIENT_KEY: &str = "client.key";

pub(super) fn write(folder: &Path) -> Result<()> {
    let put = |name: &str, text: String| std::fs::write(folder.join(name), text).context(name);
    put(TOKENS, format!("{TOKEN},admin,admin,system:masters\n"))?;
    let key = KeyPair::generate().context("making a key for service accounts")?;
    put(SERVICE_ACCOUNT_KEY, key.serialize_pem())?;
    put(SERVICE_ACCOUNT_PUBLIC, key.public_key_pem())?;

    let making = "making a certificate for a client";
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "clients of a test");
    let key = KeyPair::generate().context(making)?;
    put(CLIENT_CA, authority.self_signed(&key).context(making)?.pem())?;
    let issuer = Issuer::new(authority, key);

    let mut client = CertificateParams::default();
    client.distinguished_name.push(DnType::CommonName, "admin");
    // The API server maps organizations to groups.
    client.distinguished_name.push(DnType::OrganizationName, "system:masters");
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().context(making)?;
    put(CLIENT_CERTIFICATE, client.signed_by(&key, &issuer).context(making)?.pem())?;
    put(CLIENT_KEY, key.serialize_pem())
}
