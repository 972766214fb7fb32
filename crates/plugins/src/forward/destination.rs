//! The TO arguments of a `forward` line and their addresses.
//!
//! ```text
//! 10.0.0.1  10.0.0.1:53  tls://9.9.9.9%dns.quad9.net:853   → Addresses
//! /etc/resolv.conf                                          → File, read again later
//! dns.example.org  tls://dns.example.org:853                → Host, resolved once
//! ```

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use corefile::Scheme;

use super::LOG;
use crate::host_files::polled_file::{Failure, PolledFile, whole};
use crate::host_files::resolv_conf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    Addresses(Vec<Address>),
    File(NameServers),
    Host(Host),
}

/// A file in the form of `resolv.conf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameServers {
    file: PolledFile,
    /// The addresses of its last version that had any.
    pub addresses: Vec<Address>,
}

impl NameServers {
    fn open(path: PathBuf) -> Result<NameServers, Failure> {
        let file = PolledFile::new(path, files::DEFAULT_LIMIT);
        let mut servers = NameServers { file, addresses: Vec::new() };
        match servers.file.read(whole) {
            Ok(read) => {
                let contents = read.map(|(contents, _)| contents).unwrap_or_default();
                servers.addresses = servers.parse(&contents);
            }
            // CoreDNS treats a directory as an empty file.
            Err(Failure::Open(error)) if error.kind() == io::ErrorKind::IsADirectory => {}
            Err(failure) => return Err(failure),
        }
        Ok(servers)
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Reads the file again if it changed; true if its addresses did.
    pub fn refresh(&mut self) -> bool {
        let Some((contents, _)) = self.file.poll(LOG, whole) else { return false };
        let addresses = self.parse(&contents);
        if addresses.is_empty() {
            let path = self.path().display();
            LOG.warning(format_args!("{path}: no name server found; the previous ones stay in use"));
            return false;
        }
        let changed = addresses != self.addresses;
        self.addresses = addresses;
        changed
    }

    fn parse(&self, contents: &[u8]) -> Vec<Address> {
        resolv_conf::name_servers(contents).iter().filter_map(|server| self.address(server)).collect()
    }

    /// The address of a name server, for plain DNS.
    fn address(&self, server: &str) -> Option<Address> {
        let ip = resolv_conf::address(server);
        if ip.is_none() {
            LOG.warning(format_args!(
                "{}: name server {server:?} is not an IP address",
                self.path().display()
            ));
        }
        let server_name = String::new();
        Some(Address { scheme: Scheme::Dns, host: ip?.to_string(), port: "53".into(), server_name })
    }
}

/// An upstream address, not validated yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub scheme: Scheme,
    /// An IP address; a path if the scheme is `unix`.
    pub host: String,
    pub port: String,
    /// The TLS server name after `%`.
    pub server_name: String,
}

/// A host name to be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub scheme: Scheme,
    pub name: String,
    pub port: String,
    pub server_name: String,
}

impl std::fmt::Display for Address {
    /// As in error messages: without the server name.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.scheme {
            Scheme::Unix => write!(f, "unix://{}", self.host),
            Scheme::Dns => f.write_str(&join(&self.host, &self.port)),
            scheme => write!(f, "{scheme}://{}", join(&self.host, &self.port)),
        }
    }
}

impl Destination {
    /// Parses one TO, with CoreDNS's errors.
    pub fn parse(text: &str) -> Result<Destination, String> {
        let (scheme, rest) = Scheme::split(text);
        if rest.is_empty() {
            return Err(format!("invalid address: {}", golang::quoted(text)));
        }
        if scheme == Scheme::Unix {
            let (port, server_name) = (String::new(), String::new());
            return Ok(Destination::Addresses(vec![Address {
                scheme,
                host: rest.into(),
                port,
                server_name,
            }]));
        }
        let (host, port) = match golang::split_host_port(rest) {
            Ok((host, port)) => (host, port),
            Err(_) => (trim_brackets(rest), scheme.default_port("53")),
        };
        let (ip, server_name) = host.rsplit_once('%').unwrap_or((host, ""));
        if ip.parse::<IpAddr>().is_ok() {
            let (host, port, server_name) = (ip.into(), port.into(), server_name.into());
            return Ok(Destination::Addresses(vec![Address { scheme, host, port, server_name }]));
        }
        // A file name may contain a colon, but no enclosing brackets.
        let path =
            PathBuf::from(if golang::split_host_port(rest).is_ok() { rest } else { trim_brackets(rest) });
        let shown = path.display().to_string();
        match NameServers::open(path) {
            Ok(file) => return Ok(Destination::File(file)),
            // The path exists but is not a file Rhumb reads: an error of our own, not of the system.
            Err(Failure::Open(error)) if error.raw_os_error().is_none() => {
                return Err(format!("{shown} {error}"));
            }
            Err(_) => {}
        }
        host_name(text)
            .map(Destination::Host)
            .ok_or_else(|| format!("not an IP address, file, or valid domain: {}", golang::quoted(text)))
    }

    /// Whether it counts towards the limit of TOs; a file without a name server does not.
    pub fn counts(&self) -> bool {
        !matches!(self, Destination::File(file) if file.addresses.is_empty())
    }
}

fn host_name(text: &str) -> Option<Host> {
    let (scheme, rest) = Scheme::split(text);
    if !matches!(scheme, Scheme::Dns | Scheme::Tls | Scheme::Quic | Scheme::Https) {
        return None;
    }
    let (rest, server_name) = split_server_name(rest);
    let (name, port) = match golang::split_host_port(&rest) {
        Ok((name, port)) => (name, port),
        Err(_) => (rest.as_str(), scheme.default_port("53")),
    };
    let name = trim_brackets(name);
    let is_name = !name.is_empty() && wire::NameBuf::parse(name).is_ok();
    if !is_name || name.parse::<IpAddr>().is_ok() {
        return None;
    }
    Some(Host { scheme, name: name.into(), port: port.into(), server_name })
}

/// Removes `%NAME` from `HOST%NAME[:PORT]`.
fn split_server_name(text: &str) -> (String, String) {
    let Some((host, behind)) = text.rsplit_once('%') else { return (text.into(), String::new()) };
    let closing = if host.starts_with('[') { "]" } else { "" };
    match behind.rfind(':') {
        None => (format!("{host}{closing}"), behind.into()),
        Some(colon) => {
            let (name, port) = behind.split_at(colon);
            (format!("{host}{closing}{port}"), name.strip_suffix(']').unwrap_or(name).into())
        }
    }
}

fn trim_brackets(text: &str) -> &str {
    text.trim_matches(['[', ']'])
}

fn join(host: &str, port: &str) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
