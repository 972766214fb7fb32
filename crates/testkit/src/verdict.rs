//! Whether a server takes a Corefile: it prints its version when it does, and ends when it does not.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may think about it.
const PATIENCE: Duration = Duration::from_secs(20);

/// All that the server says if it refuses the Corefile; None if it starts, after which it is ended.
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
    let end = Instant::now() + PATIENCE;
    loop {
        let ended = child.try_wait().expect("asked").is_some();
        let text = std::fs::read(folder.path().join("output")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let taken = text.contains("CoreDNS-") || text.contains("Rhumb-");
        if taken || ended {
            let _ = child.kill();
            let _ = child.wait();
            return (!taken).then_some(text);
        }
        assert!(Instant::now() < end, "no verdict on:\n{corefile}\n{text}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The line that says why; warnings and start-up chatter come before it.
pub fn first_error(text: &str) -> &str {
    let chatter =
        |line: &&str| !line.starts_with('[') && !line.starts_with("maxprocs:") && !line.trim().is_empty();
    text.lines().find(chatter).unwrap_or_default()
}
