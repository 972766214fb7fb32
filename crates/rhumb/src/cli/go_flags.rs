//! CoreDNS's flags, parsed as Go's flag package does.
//!
//! One dash or two, values after `=` or in the next word, booleans with an optional `=true` or `=false`. The first
//! word that is not a flag ends them.

/// The values of the flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    pub conf: String,
    pub dns_port: String,
    pub pidfile: String,
    pub log_format: String,
    pub plugins: bool,
    pub quiet: bool,
    pub version: bool,
    /// The words after the flags.
    pub arguments: Vec<String>,
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
            arguments: Vec::new(),
        }
    }
}

/// Why parsing stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlagError {
    /// `-h` or `-help`.
    Help,
    /// With Go's error text.
    Invalid(String),
}

/// The field that a flag sets.
enum Target<'a> {
    Text(&'a mut String),
    Bool(&'a mut bool),
}

impl Flags {
    fn target(&mut self, name: &str) -> Option<Target<'_>> {
        Some(match name {
            "conf" => Target::Text(&mut self.conf),
            "dns.port" | "p" => Target::Text(&mut self.dns_port),
            "pidfile" => Target::Text(&mut self.pidfile),
            "log-format" => Target::Text(&mut self.log_format),
            "plugins" => Target::Bool(&mut self.plugins),
            "quiet" => Target::Bool(&mut self.quiet),
            "version" => Target::Bool(&mut self.version),
            _ => return None,
        })
    }
}

/// Parses the words after the program's name.
pub fn parse(words: &[String]) -> Result<Flags, FlagError> {
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
            return Err(FlagError::Invalid(format!("bad flag syntax: {word}")));
        }
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        match (flags.target(name), value) {
            (Some(Target::Bool(flag)), None) => *flag = true,
            (Some(Target::Bool(flag)), Some(value)) => {
                *flag = boolean(value).ok_or_else(|| {
                    FlagError::Invalid(format!("invalid boolean value {value:?} for -{name}: parse error"))
                })?;
            }
            (Some(Target::Text(text)), Some(value)) => value.clone_into(text),
            (Some(Target::Text(text)), None) => match words.next() {
                Some(value) => value.clone_into(text),
                None => return Err(FlagError::Invalid(format!("flag needs an argument: -{name}"))),
            },
            (None, _) if name == "help" || name == "h" => return Err(FlagError::Help),
            (None, _) => return Err(FlagError::Invalid(format!("flag provided but not defined: -{name}"))),
        }
    }
    flags.arguments = words.cloned().collect();
    Ok(flags)
}

/// Go's spellings of true and false.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// Go's usage text: in alphabetical order, with its tabs.
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

    fn parsed(line: &str) -> Result<Flags, FlagError> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_are_parsed_as_in_go() {
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
            // A boolean takes no second word, which therefore ends the flags.
            ("-quiet true -plugins", |f| {
                f.quiet = true;
                f.arguments = vec!["true".into(), "-plugins".into()];
            }),
            ("--", |_| ()),
            ("-quiet -- -plugins", |f| {
                f.quiet = true;
                f.arguments = vec!["-plugins".into()];
            }),
            ("- x", |f| f.arguments = vec!["-".into(), "x".into()]),
            ("x -quiet", |f| f.arguments = vec!["x".into(), "-quiet".into()]),
        ];
        for (line, change) in cases {
            let mut expected = Flags::default();
            change(&mut expected);
            assert_eq!(parsed(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn errors_are_those_of_go() {
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
            assert_eq!(parsed(line), Err(FlagError::Invalid(message.into())), "{line}");
        }
        for line in ["-help", "-quiet -h", "--help=no"] {
            assert_eq!(parsed(line), Err(FlagError::Help), "{line}");
        }
    }
}
