//! Adapts a Corefile of a cluster to loopback. Only addresses and ports change:
//!
//! | in the document | here |
//! |---|---|
//! | port 53 of a server block, on all addresses | a free one, on 127.0.0.1 |
//! | `health`, `ready`, `prometheus` | each on a free port of 127.0.0.1 |
//! | `kubernetes … {` | the same, with a `kubeconfig` |
//! | the address of an upstream | that of its stand-in |
//! | clients in 10.0.0.0/8, in rules about clients | the same in 127.0.0.0/8 |

use std::fmt::Write;

use testkit::ports;

use super::environment::Environment;

/// A Corefile that can be served here.
pub struct Adapted {
    pub corefile: String,
    pub port: u16,
    /// The port of `ready`, if present.
    pub ready: Option<u16>,
}

pub fn adapt(corefile: &str, environment: &Environment) -> Result<Adapted, String> {
    let port = free()?;
    let mut adapted = Adapted { corefile: String::new(), port, ready: None };
    for line in corefile.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let text = match words.as_slice() {
            [keys @ .., "{"] if !line.starts_with(char::is_whitespace) => {
                let keys: Vec<String> = keys.iter().map(|key| format!("{}:{port}", zone(key))).collect();
                format!("{} {{\n    bind 127.0.0.1", keys.join(" "))
            }
            ["ready"] => {
                let ready = free()?;
                adapted.ready = Some(ready);
                format!("    ready 127.0.0.1:{ready}")
            }
            [name @ "health", rest @ ..] | [name @ "prometheus", ":9153", rest @ ..] => {
                format!("    {name} 127.0.0.1:{} {}", free()?, rest.join(" "))
            }
            ["kubernetes", .., "{"] => {
                format!("{line}\n        kubeconfig {}", environment.kubeconfig().display())
            }
            ["kubernetes", ..] => return Err(format!("no braces for a kubeconfig: {line}")),
            ["forward", from, rest @ ..] => {
                let rest: Vec<String> = rest
                    .iter()
                    .take_while(|word| **word != "#")
                    .map(|word| upstream(word, environment))
                    .collect::<Result<_, _>>()?;
                format!("    forward {from} {}", rest.join(" "))
            }
            ["allow" | "block" | "filter" | "drop", ..] => client(line, " "),
            ["expr", ..] => client(line, "'"),
            _ => line.to_owned(),
        };
        let _ = writeln!(adapted.corefile, "{text}");
    }
    Ok(adapted)
}

/// Replaces a client address after `in_front` by its loopback address.
pub fn client(line: &str, in_front: &str) -> String {
    line.replace(&format!("{in_front}10."), &format!("{in_front}127."))
}

fn zone(key: &str) -> &str {
    key.strip_suffix(":53").unwrap_or(key)
}

/// Replaces the address of an upstream in `forward`; keeps other words.
fn upstream(word: &str, environment: &Environment) -> Result<String, String> {
    if word == "{" {
        return Ok(word.to_owned());
    }
    Ok(environment.upstreams.addr(word)?.to_string())
}

fn free() -> Result<u16, String> {
    ports::free().map_err(|error| error.to_string())
}

#[test]
fn client_addresses_become_loopback() {
    for (line, in_front, moved) in [
        ("allow net 10.1.0.0/16 192.0.2.1", " ", "allow net 127.1.0.0/16 192.0.2.1"),
        ("expr incidr(client_ip(), '10.20.0.0/16')", "'", "expr incidr(client_ip(), '127.20.0.0/16')"),
        ("dig -b 10.1.0.7 -x 10.0.10.1", "-b ", "dig -b 127.1.0.7 -x 10.0.10.1"),
    ] {
        assert_eq!(client(line, in_front), moved);
    }
}
