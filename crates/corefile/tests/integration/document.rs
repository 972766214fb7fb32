//! Edits of documents: each changes its own text and nothing else.

use corefile::{Comments, Document, ItemKind, NewBlock, Place, Stanza};

const KUBE: &str = "\
# the cluster's own
.:53 {
    errors
    # keep pods in step with services
    kubernetes cluster.local {
       pods insecure   # as kubeadm has it
    }
    forward . /etc/resolv.conf # upstream

    cache 30
}

internal.example:53 {
    forward . 10.0.0.1
}
";

/// Applies `edit` to `before`, and checks that exactly `after` comes out.
fn check(before: &str, edit: impl Fn(&mut Document), after: &str) {
    let mut document = Document::parse(before).unwrap();
    assert_eq!(document.to_string(), before);
    edit(&mut document);
    assert_eq!(document.text(), after);
}

fn forward() -> NewBlock {
    NewBlock::new(["corp.example:53"])
        .plugin(Stanza::new("errors"))
        .plugin(Stanza::new("forward . 10.9.9.9").property("max_concurrent 100"))
}

#[test]
fn items_are_listed() {
    let text = "import snippets/*\n(s) { a }\nA.org, b.org:53\n# c\n{\n log {\n x\n }\n import s\n}\ntls://c.org { \n}";
    let document = Document::parse(text).unwrap();
    let found: Vec<_> = document
        .items()
        .iter()
        .map(|item| {
            let keys: Vec<_> = item.keys.iter().map(|key| &*key.text).collect();
            let plugins: Vec<_> = item.plugins.iter().map(|plugin| plugin.name()).collect();
            (item.kind, keys, plugins)
        })
        .collect();
    assert_eq!(
        found,
        [
            (ItemKind::Import, vec!["snippets/*"], vec![]),
            (ItemKind::Snippet, vec!["(s)"], vec!["a"]),
            (ItemKind::Server, vec!["A.org", "b.org:53"], vec!["log", "import"]),
            (ItemKind::Server, vec!["tls://c.org"], vec![]),
        ]
    );
    for (key, index) in
        [("a.org", Some(2)), ("B.ORG.", Some(2)), ("tls://c.org.:853", Some(3)), ("c.org", None)]
    {
        assert_eq!(document.find_block(key), index, "{key}");
    }
    assert_eq!(document.blocks().count(), 2);
    assert_eq!(document.items()[2].find_plugin("import"), Some(1));
    let mut c = document.items()[2].plugins[0].dispenser();
    assert!(c.next() && c.next_block());
    assert_eq!(c.val(), "x");
}

#[test]
fn unbalanced_braces_are_refused() {
    for (text, expected) in [
        (". {\n log\n", "Corefile:1 - Error during parsing: Unexpected EOF"),
        (". {\n log {\n", "Corefile:2 - Error during parsing: Unexpected EOF"),
        (
            ". {\n log }\n",
            "Corefile:2 - Error during parsing: Unexpected '}' because no matching opening brace",
        ),
    ] {
        assert_eq!(Document::parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_block_is_inserted() {
    let block =
        "corp.example:53 {\n    errors\n    forward . 10.9.9.9 {\n       max_concurrent 100\n    }\n}\n";
    let insert =
        |place| move |document: &mut Document| assert!(document.insert_block(place, &forward()).is_ok());
    check(KUBE, insert(Place::End), &format!("{KUBE}\n{block}"));
    check(KUBE, insert(Place::After(1)), &format!("{KUBE}\n{block}"));
    let (first, second) = KUBE.split_once("internal").unwrap();
    check(KUBE, insert(Place::After(0)), &format!("{first}{block}\ninternal{second}"));
    check(KUBE, insert(Place::Before(1)), &format!("{first}{block}\ninternal{second}"));
    check(KUBE, insert(Place::Before(0)), &format!("{block}\n{KUBE}"));
    let plain = block.replace("       max", "        max");
    check("", insert(Place::End), &plain);
    check("# nothing yet", insert(Place::End), &format!("# nothing yet\n\n{plain}"));
    check("\u{feff}", insert(Place::End), &format!("\u{feff}{plain}"));
}

#[test]
fn blocks_on_one_line_are_separated() {
    let block = NewBlock::new(["new"]).plugin(Stanza::new("log"));
    let insert = |document: &mut Document| {
        document.insert_block(Place::After(0), &block).unwrap();
    };
    check("a {\n} b {\n}", insert, "a {\n}\n\nnew {\n    log\n}\n\n b {\n}");
}

#[test]
fn line_endings_and_tabs_are_kept() {
    let before = ".:53 {\r\n\tlog\r\n}\r\n";
    let expected = format!(
        "{before}\r\n{}",
        "corp.example:53 {\r\n\terrors\r\n\tforward . 10.9.9.9 {\r\n\t\tmax_concurrent 100\r\n\t}\r\n}\r\n"
    );
    check(before, |d| assert!(d.insert_block(Place::End, &forward()).is_ok()), &expected);
    check(
        before,
        |d| d.insert_plugin(0, Place::End, &Stanza::new("cache").property("success 9")).unwrap(),
        ".:53 {\r\n\tlog\r\n\tcache {\r\n\t\tsuccess 9\r\n\t}\r\n}\r\n",
    );
}

#[test]
fn a_block_without_braces_gets_some() {
    let block = NewBlock::new(["new"]).plugin(Stanza::new("log"));
    let insert = |document: &mut Document| {
        document.insert_block(Place::End, &block).unwrap();
    };
    let new = "new {\n    log\n}\n";
    check(".:53 # all\nwhoami\n", insert, ".:53 { # all\nwhoami\n}\n\nnew {\nlog\n}\n");
    check(".:53\n    whoami", insert, &format!(".:53 {{\n    whoami\n}}\n\n{new}"));
    check(".:53", insert, &format!(".:53 {{\n}}\n\n{new}"));
    // CoreDNS accepts the plugin's brace as the block's, but only at the end of the file.
    check(". {\n    log {\n    }\n", insert, &format!(". {{\n    log {{\n    }}\n}}\n\n{new}"));
    check(".:53\n    whoami\n}\n", insert, &format!(".:53 {{\n    whoami\n}}\n\n{new}"));
}

#[test]
fn a_block_is_removed() {
    let remove =
        |index, comments| move |document: &mut Document| document.remove_block(index, comments).unwrap();
    let (first, second) = KUBE.split_at(KUBE.find("\ninternal").unwrap());
    check(KUBE, remove(1, Comments::Keep), first);
    check(KUBE, remove(0, Comments::Remove), &second[1..]);
    check(KUBE, remove(0, Comments::Keep), &format!("# the cluster's own\n{second}"));
    check("a {\n} b {\n}\n", remove(1, Comments::Keep), "a {\n} \n");
    check("a {\n} b {\n}\n", remove(0, Comments::Keep), " b {\n}\n");
}

#[test]
fn inserting_and_removing_leaves_no_trace() {
    for place in [Place::End, Place::Before(0), Place::After(0), Place::Before(1), Place::After(1)] {
        let commented = forward().comment("written by rhumb");
        let edit = |document: &mut Document| {
            let index = document.insert_block(place, &commented).unwrap();
            assert_eq!(document.find_block("corp.example"), Some(index));
            document.remove_block(index, Comments::Remove).unwrap();
        };
        check(KUBE, edit, KUBE);
    }
}

#[test]
fn a_plugin_is_inserted() {
    let insert =
        |place| move |document: &mut Document| document.insert_plugin(0, place, &Stanza::new("log")).unwrap();
    let put = |at: &str, new: &str| KUBE.replace(at, &format!("{new}{at}"));
    check(KUBE, insert(Place::End), &put("}\n\ninternal", "    log\n"));
    check(KUBE, insert(Place::Before(0)), &put("    errors\n", "    log\n"));
    check(KUBE, insert(Place::Before(1)), &put("    # keep", "    log\n"));
    check(KUBE, insert(Place::After(1)), &put("    forward . /etc", "    log\n"));
    check(KUBE, insert(Place::After(2)), &put("\n    cache", "    log\n"));
    check(". { }", insert(Place::End), ". {\n    log\n}");
    check("  . {\n  }\n", insert(Place::End), "  . {\n    log\n  }\n");
    check(". {\n}", insert(Place::End), ". {\n    log\n}");
    check(". { errors\n}", insert(Place::Before(0)), ". {\n    log\n    errors\n}");
    check(". { errors\n}", insert(Place::End), ". { errors\n    log\n}");
    check(".", insert(Place::End), ".\n    log\n");
    check(".\nerrors", insert(Place::End), ".\nerrors\nlog\n");
    check("(s) { a }", insert(Place::End), "(s) { a\n    log\n }");
}

#[test]
fn a_plugin_is_replaced() {
    let stanza = Stanza::new("forward . tls://9.9.9.9").property("tls_servername dns.quad9.net");
    check(
        KUBE,
        |document| document.replace_plugin(0, 2, &stanza).unwrap(),
        &KUBE.replace(
            "forward . /etc/resolv.conf",
            "forward . tls://9.9.9.9 {\n       tls_servername dns.quad9.net\n    }",
        ),
    );
    check(
        KUBE,
        |document| document.replace_plugin(0, 1, &Stanza::new("whoami")).unwrap(),
        &KUBE.replace(
            "kubernetes cluster.local {\n       pods insecure   # as kubeadm has it\n    }",
            "whoami",
        ),
    );
}

#[test]
fn a_plugin_is_removed() {
    let remove = |plugin, comments| {
        move |document: &mut Document| document.remove_plugin(0, plugin, comments).unwrap()
    };
    check(KUBE, remove(0, Comments::Keep), &KUBE.replace("    errors\n", ""));
    check(KUBE, remove(2, Comments::Keep), &KUBE.replace("    forward . /etc/resolv.conf # upstream\n", ""));
    let kubernetes = "    kubernetes cluster.local {\n       pods insecure   # as kubeadm has it\n    }\n";
    check(KUBE, remove(1, Comments::Keep), &KUBE.replace(kubernetes, ""));
    let comment = "    # keep pods in step with services\n";
    check(KUBE, remove(1, Comments::Remove), &KUBE.replace(&format!("{comment}{kubernetes}"), ""));
    check(". { errors # x\n log\n}", remove(0, Comments::Keep), ". { \n log\n}");
}

#[test]
fn put_is_idempotent() {
    let mut document = Document::parse(KUBE).unwrap();
    assert_eq!(document.put_block(Place::End, &forward()), Ok(true));
    let once = document.to_string();
    assert_eq!(document.put_block(Place::End, &forward()), Ok(false));
    assert_eq!(document.text(), once);
    // Other white space and comments, the same words.
    let mut other =
        Document::parse("corp.example:53 { # x\n\n errors\nforward . 10.9.9.9 {\nmax_concurrent 100\n}\n}")
            .unwrap();
    assert_eq!(other.put_block(Place::End, &forward()), Ok(false));
    // The same zone with another body is replaced in place.
    let changed = NewBlock::new(["corp.example:53"]).plugin(Stanza::new("forward . 10.8.8.8"));
    assert_eq!(document.put_block(Place::End, &changed), Ok(true));
    assert_eq!(document.text(), format!("{KUBE}\ncorp.example:53 {{\n    forward . 10.8.8.8\n}}\n"));

    assert_eq!(document.put_plugin(0, Place::End, &Stanza::new("cache   30")), Ok(false));
    assert_eq!(document.put_plugin(0, Place::Before(0), &Stanza::new("cache 31")), Ok(true));
    assert_eq!(document.put_plugin(0, Place::Before(0), &Stanza::new("cache 31")), Ok(false));
}

#[test]
fn edits_that_change_other_text_are_refused() {
    let shared = "corp.example other.example {\n log\n}\n";
    let mut document = Document::parse(shared).unwrap();
    let error = document.put_block(Place::End, &forward()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "block to replace also serves 'other.example', which the new block does not"
    );

    let mut document = Document::parse(". {\n}\n\"never closed\n").unwrap();
    let error = document.insert_block(Place::End, &forward()).unwrap_err();
    assert_eq!(error.to_string(), "edit refused: it would change how the rest of the file is parsed");
    assert_eq!(document.text(), ". {\n}\n\"never closed\n");

    let mut document = Document::parse(KUBE).unwrap();
    for line in ["log # all", "log {", "", "log \"x"] {
        assert!(document.insert_plugin(0, Place::End, &Stanza::new(line)).is_err(), "{line}");
    }
    assert!(document.insert_plugin(7, Place::End, &Stanza::new("log")).is_err());
    assert!(document.insert_plugin(0, Place::After(7), &Stanza::new("log")).is_err());
    assert!(document.insert_block(Place::After(7), &forward()).is_err());
    assert!(document.remove_block(7, Comments::Keep).is_err());
    assert_eq!(document.text(), KUBE);
}

#[test]
fn a_hash_in_a_quoted_word_is_no_comment() {
    check(
        ". {\n    log \"a\n# b\"\n    errors\n}\n",
        |document| document.insert_plugin(0, Place::Before(1), &Stanza::new("whoami")).unwrap(),
        ". {\n    log \"a\n# b\"\n    whoami\n    errors\n}\n",
    );
}
