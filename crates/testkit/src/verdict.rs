//! Checks whether a server accepts a Corefile: it prints its version if so, else it exits.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit for a server to start or to exit.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The server's output if it rejects the Corefile; None if it starts (it is then killed).
pub fn refusal(binary: &Path, corefile: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("Corefile"), corefile).expect("written");
    let output = std::fs::File::create(folder.path().join("output")).expect("created");
    let mut child = Command::new(binary)
        .args(["-conf", "Corefile"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("cloned"))
        .stderr(output)
        .spawn()
        .expect("started");
    let end = Instant::now() + TIMEOUT;
    loop {
        let ended = child.try_wait().expect("asked").is_some();
        let text = std::fs::read(folder.path().join("output")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let accepted = text.contains("CoreDNS-") || text.contains("Rhumb-");
        if accepted || ended {
            let _ = child.kill();
            let _ = child.wait();
            return (!accepted).then_some(text);
        }
        assert!(Instant::now() < end, "neither started nor exited with:\n{corefile}\n{text}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The line with the error; warnings and start-up lines precede it.
pub fn first_error(text: &str) -> &str {
    let is_error =
        |line: &&str| !line.starts_with('[') && !line.starts_with("maxprocs:") && !line.trim().is_empty();
    text.lines().find(is_error).unwrap_or_default()
}
