//! Unchanged parts stay byte for byte.

use super::*;

/// Comments everywhere, odd indentation, variables, quotes, blank lines.
const BEFORE: &str = "\
# the cluster
.:53,   tcp.example:53 {   # all of it

      errors   # keep
  # services
  kubernetes {$DOMAIN}   in-addr.arpa {
       # do not resync
       resyncperiod 1m   # gone with its line
       pods insecure     # as kubeadm has it

       upstream
  }
\tproxy  .   /etc/resolv.conf   \"10.0.0.1\" { # old
\t\tspray
\t\t# why so many
\t\tmax_fails    3
\t}
}
# the end";

const AFTER: &str = "\
# the cluster
.:53,   tcp.example:53 {   # all of it

      errors   # keep
  # services
  kubernetes {$DOMAIN}   in-addr.arpa {
       # do not resync
       pods insecure     # as kubeadm has it

  }
\tforward  .   /etc/resolv.conf   \"10.0.0.1\" { # old
\t\t# why so many
\t\tmax_fails    3
\t}
}
# the end";

#[test]
fn comments_and_white_space_stay() {
    assert_eq!(run(BEFORE).result, AFTER);
    let dos = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(run(&dos(BEFORE)).result, dos(AFTER));
    assert_eq!(run(&format!("\u{feff}{BEFORE}")).result, format!("\u{feff}{AFTER}"));
}

#[test]
fn line_numbers_are_those_of_the_input() {
    let lines: Vec<u32> = run(BEFORE).changes.iter().map(|change| change.line).collect();
    assert_eq!(lines, [8, 11, 13, 14]);
}

#[test]
fn empty_braces_are_removed() {
    for (before, after) in [
        ("a.b {\n file db {\n  upstream\n\n }\n}", "a.b {\n file db\n}"),
        ("a.b {\n file db { # why\n  upstream\n }\n}", "a.b {\n file db { # why\n }\n}"),
        ("a.b {\n file db {\n  # why\n  upstream\n }\n}", "a.b {\n file db {\n  # why\n }\n}"),
        ("a.b {\n file db {\n  upstream # why\n }\n}", "a.b {\n file db\n}"),
        ("a.b {\n file db { upstream\n }\n}", "a.b {\n file db\n}"),
        ("a.b {\n file db { upstream\n  reload 5s\n }\n}", "a.b {\n file db {\n  reload 5s\n }\n}"),
        ("a.b\nfile db {\n upstream\n}", "a.b\nfile db"),
        (
            "a.b {\n file db {\n  upstream\n  transfer to *\n  upstream\n }\n}",
            "a.b {\n file db\n transfer {\n  to *\n }\n}",
        ),
    ] {
        assert_eq!(run(before).result, after, "{before}");
    }
}

#[test]
fn snippets_are_migrated_in_their_place() {
    let before = "(up) {\n  proxy . 10.0.0.1\n}\n. {\n  import up\n}\n";
    assert_eq!(run(before).result, before.replace("proxy", "forward"));
}

#[test]
fn invalid_files_are_refused() {
    for (text, error) in [
        (". {\n proxy . 1.1.1.1 {\n spray\n", "Corefile:2 - Error during parsing: Unexpected EOF"),
        (". {\n errors\n}\n}\n x }\n", "Unexpected '}' because no matching opening brace"),
    ] {
        let refused = migrate("Corefile", text).expect_err(text);
        assert!(refused.to_string().contains(error), "{refused}");
    }
}

/// Current files stay unchanged.
#[test]
fn corefiles_of_the_distributions_stay() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corefiles");
    let mut seen = 0;
    for folder in std::fs::read_dir(root).expect("the folder is there") {
        let Ok(text) = std::fs::read_to_string(folder.expect("an entry").path().join("Corefile")) else {
            continue;
        };
        let migrated = run(&text);
        assert_eq!((migrated.result, migrated.changes), (text, Vec::new()));
        seen += 1;
    }
    assert!(seen > 5);
}

/// A property may be on the line of its braces.
#[test]
fn all_on_one_line() {
    for (before, after) in [
        ("a.b {\n file db { upstream }\n}", "a.b {\n file db\n}"),
        ("a.b {\n proxy . 1.1.1.1 { policy first }\n}", "a.b {\n forward . 1.1.1.1 { policy sequential }\n}"),
        (
            "a.b {\n proxy . 1.1.1.1 { policy first }\n proxy c 2.2.2.2\n}",
            "a.b {\n forward . 1.1.1.1 {\n  except c\n  policy sequential }\n forward c 2.2.2.2\n}",
        ),
        (
            "a.b {\n proxy . 1.1.1.1 { spray }\n proxy c 2.2.2.2\n}",
            "a.b {\n forward . 1.1.1.1 {\n  except c\n  }\n forward c 2.2.2.2\n}",
        ),
    ] {
        assert_eq!(run(before).result, after, "{before}");
        check_loads(after);
    }
}
