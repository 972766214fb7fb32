//! The version, as printed by `-version` and at startup.

/// `Rhumb-0.1.0`
pub const NAME: &str = concat!("Rhumb-", env!("CARGO_PKG_VERSION"));

/// Two lines in CoreDNS's form: name and version, then platform, compiler and commit.
pub fn text() -> String {
    let (rustc, commit) = (env!("RHUMB_RUSTC"), env!("RHUMB_COMMIT"));
    format!("{NAME}\n{}/{}, {rustc}, {commit}\n", std::env::consts::OS, architecture())
}

/// Go's name of the architecture, which scripts may match.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
