//! One server with one recipe: queried by `dig`, its log checked.

use std::process::Command;
use std::time::{Duration, Instant};

use testkit::{DnsServer, Kind};

use super::adapt::{adapt, client};
use super::document::{Question, Recipe};
use super::environment::Environment;

/// Time limit for the log, which is written after the answer.
const LOG_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Running {
    server: DnsServer,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Kills it, to skip the lameduck period.
        let _ = self.server.process().kill();
    }
}

impl Running {
    pub fn start(kind: Kind, recipe: &Recipe, environment: &Environment) -> Result<Self, String> {
        let adapted = adapt(&recipe.corefile, environment)?;
        let server =
            DnsServer::start(kind, &adapted.corefile, adapted.port).map_err(|error| error.to_string())?;
        let running = Self { server };
        if let Some(ready) = adapted.ready {
            running.server.wait_until_ready(ready).map_err(|error| error.to_string())?;
        }
        Ok(running)
    }

    pub fn name(&self) -> &'static str {
        self.server.kind().name()
    }

    /// Empty if dig prints the documented output.
    pub fn ask(&self, question: &Question) -> String {
        let printed = dig(self.server.addr().port(), &question.command);
        let expected: Vec<&str> = question.printed.iter().map(String::as_str).collect();
        if same(&expected, &printed) {
            return String::new();
        }
        let (server, expected, printed) = (self.name(), expected.join("\n"), printed.join("\n"));
        let Question { line, command, .. } = question;
        format!("{line}: $ {command}\n--- in the document\n{expected}\n--- {server}\n{printed}\n")
    }

    /// The lines of its query log, once there are `count` of them.
    pub fn logged(&self, count: usize) -> Vec<String> {
        let deadline = Instant::now() + LOG_TIMEOUT;
        loop {
            let mut lines = self.server.process().lines();
            lines.retain(|line| line.starts_with("[INFO] ") && !line.starts_with("[INFO] plugin/"));
            if lines.len() >= count || Instant::now() >= deadline {
                return lines;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Runs the command with a `dig` that queries this port.
fn dig(port: u16, command: &str) -> Vec<String> {
    let dig = format!("dig() {{ command dig -r @127.0.0.1 -p {port} +tries=1 +time=6 \"$@\"; }}");
    let output = Command::new("sh").args(["-c", &format!("{dig}\n{}", client(command, "-b "))]).output();
    let output = output.unwrap_or_else(|error| panic!("sh: {error}"));
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

/// Compares line by line, ignoring the amount of white space.
fn same(expected: &[&str], printed: &[String]) -> bool {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    expected.iter().map(|line| words(line)).eq(printed.iter().map(|line| words(line)))
}

/// Empty if the log has exactly these lines. In them `…` stands for any text without blanks.
pub fn differences(server: &str, expected: &[String], logged: &[String]) -> String {
    let expected: Vec<String> = expected.iter().map(|line| client(line, "[INFO] ")).collect();
    // Concurrent queries may be logged in either order.
    let mut surplus = logged.to_vec();
    let missing = expected.iter().filter(|line| {
        let place = surplus.iter().position(|logged| fits(line, logged));
        place.map(|place| surplus.remove(place)).is_none()
    });
    let missing = missing.count();
    if missing == 0 && surplus.is_empty() {
        return String::new();
    }
    format!("--- the log in the document\n{}\n--- {server}\n{}\n", expected.join("\n"), logged.join("\n"))
}

fn fits(expected: &str, logged: &str) -> bool {
    let (mut expected, mut logged) = (expected.split(' '), logged.split(' '));
    loop {
        let (word, other) = match (expected.next(), logged.next()) {
            (None, None) => return true,
            (Some(word), Some(other)) => (word, other),
            _ => return false,
        };
        let as_it_stands = match word.split_once('…') {
            Some((head, tail)) => other.starts_with(head) && other.ends_with(tail),
            None => word == other,
        };
        if !as_it_stands {
            return false;
        }
    }
}

#[test]
fn ellipsis_matches_any_text() {
    assert!(fits("[INFO] 10.0.0.1:… - … \"A\" …s", "[INFO] 10.0.0.1:4711 - 17 \"A\" 0.001s"));
    assert!(!fits("[INFO] 10.0.0.1:… - …", "[INFO] 10.0.0.1:4711 - 17 more"));
    assert!(!fits("[INFO] 10.0.0.1:…", "[INFO] 10.0.0.2:4711"));
    assert!(same(&["a  b"], &["a\tb".to_owned()]) && !same(&["a"], &[]));
}
