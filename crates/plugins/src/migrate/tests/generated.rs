//! Generated files: old directives in any order, with braces, comments and quotes wherever they are allowed.

use corefile::Document;
use testkit::random::{Random, seed_from_env};

use super::*;

const PLUGINS: &[&str] =
    &["proxy", "kubernetes", "file", "auto", "secondary", "etcd", "startup", "forward", "log", "import"];
const OPTIONS: &[&str] = &[
    "upstream",
    "transfer",
    "to",
    "from",
    "*",
    "spray",
    "policy",
    "first",
    "protocol",
    "dns",
    "force_tcp",
    "timeout",
    "health_check",
    "/h:80",
    "endpoint",
    "a,b",
    "cidrs",
    "10.0.0.0/8",
    "federation",
    "autopath",
    "directory",
    "no_reload",
    "reload",
    "resyncperiod",
    "5s",
    "30",
    "a.example",
    ".",
    "{$X}",
    "\"a b\"",
    "\"c\nd\"",
    "\"\"",
];
const ENDS: &[&str] = &["\n", "\n", "\n", "\n\n", " # upstream\n", "\r\n", "\n  # spray\n"];

fn words(random: &mut Random, most: usize) -> String {
    (0..random.below(most + 1)).map(|_| format!(" {}", random.pick(OPTIONS))).collect()
}

fn plugin(random: &mut Random) -> String {
    let mut text = format!("  {}{}", random.pick(PLUGINS), words(random, 4));
    if random.chance(0.7) {
        text.push_str(" {");
        for _ in 0..random.below(5) {
            let end = if random.chance(0.1) { " " } else { random.pick(ENDS) };
            text.push_str(&format!("{end}    {}{}", random.pick(OPTIONS), words(random, 4)));
        }
        text.push_str(if random.chance(0.1) { " }" } else { "\n  }" });
    }
    text += random.pick::<&str>(ENDS);
    text
}

#[test]
fn any_file_keeps_its_comments_and_migrates_once() {
    let mut random = Random::new(seed_from_env());
    let (mut migrated, mut refused) = (0, 0);
    for _ in 0..1000 {
        let plugins: String = (0..random.between(1, 4)).map(|_| plugin(&mut random)).collect();
        let text = format!("# top\n.:53 {{{}{plugins}}}\n# end", random.pick(ENDS));
        if Document::parse(&text).is_err() {
            continue;
        }
        // A word with a line break cannot be moved to a new plugin.
        let Ok(once) = migrate("Corefile", &text) else {
            refused += 1;
            continue;
        };
        assert_eq!(once.changes.is_empty(), once.result == text, "{text}");
        let twice = run(&once.result);
        assert_eq!((&twice.result, twice.changes), (&once.result, Vec::new()), "{text}");
        let comments = |text: &str| text.lines().filter(|line| line.trim_start().starts_with("# ")).count();
        assert_eq!(comments(&once.result), comments(&text), "{text}\n{}", once.result);
        migrated += 1;
    }
    assert!(migrated > 300 && refused * 10 < migrated, "{migrated} migrated, {refused} refused");
}
