//! Sets the build information of the binary: the compiler version and, in a repository, the commit.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    // `rustc 1.95.0 (59807616e 2026-04-14)`
    let version = output(&rustc, &["--version"]);
    let version = version.split_whitespace().nth(1).unwrap_or("unknown");
    println!("cargo::rustc-env=RHUMB_RUSTC=rust{version}");
    println!("cargo::rustc-env=RHUMB_COMMIT={}", output("git", &["rev-parse", "--short", "HEAD"]));

    // Every commit appends to the log of HEAD; HEAD itself may stay the same.
    for path in ["../../.git/HEAD", "../../.git/logs/HEAD"] {
        if std::path::Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// The command's output; empty if it fails, as git does in a source archive.
fn output(program: &str, args: &[&str]) -> String {
    match Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        _ => String::new(),
    }
}
