//! Finds the real servers that `peers/build` builds, or builds them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Context, Error, Result};

/// `peers/build` and this file read the same list.
const VERSIONS: &str = include_str!("../../../peers/versions");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    CoreDns,
    Dnstap,
    Etcd,
    ExternalDns,
    KubeApiserver,
    Otelcol,
}

impl Peer {
    pub const ALL: [Self; 6] =
        [Self::CoreDns, Self::Dnstap, Self::Etcd, Self::ExternalDns, Self::KubeApiserver, Self::Otelcol];

    pub fn name(self) -> &'static str {
        match self {
            Self::CoreDns => "coredns",
            Self::Dnstap => "dnstap",
            Self::Etcd => "etcd",
            Self::ExternalDns => "external-dns",
            Self::KubeApiserver => "kube-apiserver",
            Self::Otelcol => "otelcol",
        }
    }

    /// The version that `peers/versions` pins.
    pub fn version(self) -> &'static str {
        VERSIONS
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(char::is_whitespace))
            .find(|(name, _)| *name == self.name())
            .map_or("", |(_, version)| version.trim())
    }

    /// The environment variable that overrides the binary, for example `RHUMB_PEER_COREDNS`.
    pub fn variable(self) -> String {
        format!("RHUMB_PEER_{}", self.name().to_uppercase().replace('-', "_"))
    }

    /// Path of the binary if it is built; builds nothing.
    pub fn find(self) -> Option<PathBuf> {
        let path = match std::env::var_os(self.variable()) {
            Some(path) => PathBuf::from(path),
            None => cache()?.join(format!("{self}-{}", self.version())).join(self.name()),
        };
        path.is_file().then_some(path)
    }

    /// Path of the binary; builds it first if needed, which takes minutes.
    pub fn locate(self) -> Result<PathBuf> {
        if let Some(path) = self.find() {
            return Ok(path);
        }
        if let Some(path) = std::env::var_os(self.variable()) {
            return Err(Error::new(format!("{}={} is not a file", self.variable(), path.display())));
        }
        eprintln!("building {self} {}, which takes minutes", self.version());
        let status = Command::new(build_script()).arg(self.name()).status().context("peers/build")?;
        if !status.success() {
            return Err(Error::new(format!("peers/build {self} failed ({status})")));
        }
        self.find().ok_or_else(|| {
            Error::new(format!("peers/build {self} succeeded, but the binary is not where it is expected"))
        })
    }

    /// For a test that skips without this peer: prints a line and returns `None` when it is not built. With
    /// `RHUMB_PEERS_REQUIRED` set (as in CI) it fails the test instead.
    pub fn for_test(self) -> Option<PathBuf> {
        let found = self.find();
        if found.is_none() {
            let message = format!("peer {self} not built (run peers/build {self})");
            assert!(std::env::var_os("RHUMB_PEERS_REQUIRED").is_none(), "{message}");
            println!("skipped: {message}");
        }
        found
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The same rule as in `peers/build`; a test compares the two.
fn cache() -> Option<PathBuf> {
    // An empty variable counts as unset, as in the shell's ${NAME:-…}.
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    variable("RHUMB_PEERS").or_else(|| {
        let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
        Some(cache.join("rhumb/peers"))
    })
}

fn build_script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/build")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_script_uses_the_same_path() {
        for peer in Peer::ALL {
            assert!(peer.version().starts_with('v'), "{peer} has no version in peers/versions");
            let output = Command::new(build_script()).args(["--path", peer.name()]).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let ours = cache().unwrap().join(format!("{peer}-{}/{peer}", peer.version()));
            assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), ours.to_str().unwrap());
        }
        assert_eq!(Peer::KubeApiserver.variable(), "RHUMB_PEER_KUBE_APISERVER");
    }
}
