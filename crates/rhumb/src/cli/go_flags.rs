//! CoreDNS's flags, read as Go's flag package reads them.
//!
//! One dash or two, values behind `=` or in the next word, switches with an optional `=true` or `=false`. The first
//! word that is no flag ends them.

/// What the flags said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    pub conf: String,
    pub dns_port: String,
    pub pidfile: String,
    pub log_format: String,
    pub plugins: bool,
    pub quiet: bool,
    pub version: bool,
    /// What came after the flags.
    pub rest: Vec<String>,
}

impl Default for Flags {
    fn default() -> Flags {
        Flags {
            conf: String::new(),
            dns_port: crate::input::DEFAULT_PORT.to_owned(),
            pidfile: String::new(),
            log_format: "text".to_owned(),
            plugins: false,
            quiet: false,
            version: false,
            rest: Vec::new(),
        }
    }
}

/// Why there are no flags to act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `-h` or `-help`.
    Help,
    /// In Go's words.
    Wrong(String),
}

/// Where a flag's value goes.
enum Place<'a> {
    Text(&'a mut String),
    Switch(&'a mut bool),
}

impl Flags {
    fn place(&mut self, name: &str) -> Option<Place<'_>> {
        Some(match name {
            "conf" => Place::Text(&mut self.conf),
            "dns.port" | "p" => Place::Text(&mut self.dns_port),
            "pidfile" => Place::Text(&mut self.pidfile),
            "log-format" => Place::Text(&mut self.log_format),
            "plugins" => Place::Switch(&mut self.plugins),
            "quiet" => Place::Switch(&mut self.quiet),
            "version" => Place::Switch(&mut self.version),
            _ => return None,
        })
    }
}

/// Reads the words after the program's name.
pub fn parse(words: &[String]) -> Result<Flags, Stop> {
    let mut flags = Flags::default();
    let mut words = words.iter();
    while let Some(word) = words.as_slice().first() {
        let Some(body) = word.strip_prefix('-').filter(|body| !body.is_empty()) else { break };
        words.next();
        let body = body.strip_prefix('-').unwrap_or(body);
        if body.is_empty() {
            // `--` itself
            break;
        }
        if body.starts_with(['-', '=']) {
            return Err(Stop::Wrong(format!("bad flag syntax: {word}")));
        }
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        match (flags.place(name), value) {
            (Some(Place::Switch(switch)), None) => *switch = true,
            (Some(Place::Switch(switch)), Some(value)) => {
                *switch = boolean(value).ok_or_else(|| {
                    Stop::Wrong(format!("invalid boolean value {value:?} for -{name}: parse error"))
                })?;
            }
            (Some(Place::Text(text)), Some(value)) => value.clone_into(text),
            (Some(Place::Text(text)), None) => match words.next() {
                Some(value) => value.clone_into(text),
                None => return Err(Stop::Wrong(format!("flag needs an argument: -{name}"))),
            },
            (None, _) if name == "help" || name == "h" => return Err(Stop::Help),
            (None, _) => return Err(Stop::Wrong(format!("flag provided but not defined: -{name}"))),
        }
    }
    flags.rest = words.cloned().collect();
    Ok(flags)
}

/// The spellings Go takes for true and false.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// As Go prints it, in alphabetical order and with its tabs.
pub fn usage(program: &str) -> String {
    let mut text = format!("Usage of {program}:\n");
    for (flag, about) in [
        ("conf string", "Corefile to load (default \"Corefile\")"),
        ("dns.port string", "Default port (default \"53\")"),
        ("log-format string", "Log format (text or json) (default \"text\")"),
        ("p string", "Default port (default \"53\")"),
        ("pidfile string", "Path to write pid file"),
        ("plugins", "List installed plugins"),
        ("quiet", "Quiet mode (no initialization output)"),
        ("version", "Show version"),
    ] {
        text.push_str(&format!("  -{flag}\n    \t{about}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Flags, Stop> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn accepted() {
        type Change = fn(&mut Flags);
        let cases: &[(&str, Change)] = &[
            ("", |_| ()),
            ("-conf a", |f| f.conf = "a".into()),
            ("--conf a", |f| f.conf = "a".into()),
            ("-conf=a", |f| f.conf = "a".into()),
            ("--conf=a=b", |f| f.conf = "a=b".into()),
            ("-conf=", |_| ()),
            ("-conf a -conf b", |f| f.conf = "b".into()),
            ("-conf -quiet", |f| f.conf = "-quiet".into()),
            ("-dns.port 1053", |f| f.dns_port = "1053".into()),
            ("-p 1053", |f| f.dns_port = "1053".into()),
            ("-p 1 -dns.port 2", |f| f.dns_port = "2".into()),
            ("-p=abc", |f| f.dns_port = "abc".into()),
            ("-pidfile x -log-format json", |f| {
                f.pidfile = "x".into();
                f.log_format = "json".into();
            }),
            ("-quiet", |f| f.quiet = true),
            ("-quiet=0", |_| ()),
            ("-quiet -quiet=F", |_| ()),
            ("-version=True -plugins=t", |f| {
                f.version = true;
                f.plugins = true;
            }),
            // A switch takes no second word: it is where the flags end.
            ("-quiet true -plugins", |f| {
                f.quiet = true;
                f.rest = vec!["true".into(), "-plugins".into()];
            }),
            ("--", |_| ()),
            ("-quiet -- -plugins", |f| {
                f.quiet = true;
                f.rest = vec!["-plugins".into()];
            }),
            ("- x", |f| f.rest = vec!["-".into(), "x".into()]),
            ("x -quiet", |f| f.rest = vec!["x".into(), "-quiet".into()]),
        ];
        for (line, change) in cases {
            let mut expected = Flags::default();
            change(&mut expected);
            assert_eq!(parsed(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn stopped() {
        for (line, message) in [
            ("-x", "flag provided but not defined: -x"),
            ("--x=1", "flag provided but not defined: -x"),
            ("-CONF a", "flag provided but not defined: -CONF"),
            ("-conf", "flag needs an argument: -conf"),
            ("-quiet -p", "flag needs an argument: -p"),
            ("-version=foo", "invalid boolean value \"foo\" for -version: parse error"),
            ("-version=", "invalid boolean value \"\" for -version: parse error"),
            ("---x", "bad flag syntax: ---x"),
            ("-=x", "bad flag syntax: -=x"),
            ("--=x", "bad flag syntax: --=x"),
        ] {
            assert_eq!(parsed(line), Err(Stop::Wrong(message.into())), "{line}");
        }
        for line in ["-help", "-quiet -h", "--help=no"] {
            assert_eq!(parsed(line), Err(Stop::Help), "{line}");
        }
    }
}
