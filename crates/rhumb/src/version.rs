//! What `-version` and the start of a server print.

/// `Rhumb-0.1.0`
pub const NAME: &str = concat!("Rhumb-", env!("CARGO_PKG_VERSION"));

/// Two lines in CoreDNS's form: name and version, then platform, compiler and commit.
pub fn text() -> String {
    let (rustc, commit) = (env!("RHUMB_RUSTC"), env!("RHUMB_COMMIT"));
    format!("{NAME}\n{}/{}, {rustc}, {commit}\n", std::env::consts::OS, architecture())
}

/// The architecture as Go calls it, since scripts may look for that.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
