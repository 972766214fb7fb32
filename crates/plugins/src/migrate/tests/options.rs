//! Old and new directives, plugin by plugin.

use super::*;

#[test]
fn proxy() {
    for (before, after, changes) in [
        ("  proxy . 8.8.8.8 9.9.9.9:53", "  forward . 8.8.8.8 9.9.9.9:53", &["'proxy' became 'forward'"][..]),
        (
            "  proxy . /etc/resolv.conf {\n    policy least_conn\n    max_fails 3\n    except a.example b.example\n  }",
            "  forward . /etc/resolv.conf {\n    policy random\n    max_fails 3\n    except a.example b.example\n  }",
            &["'proxy' became 'forward'", "'policy least_conn' became 'policy random'"],
        ),
        (
            "  proxy . 10.0.0.1 {\n    policy first\n    protocol dns force_tcp\n    timeout 3s\n  }",
            "  forward . 10.0.0.1 {\n    policy sequential\n    force_tcp\n    read_timeout 3s\n  }",
            &[
                "'proxy' became 'forward'",
                "'policy first' became 'policy sequential'",
                "'protocol dns force_tcp' became 'force_tcp'",
                "'timeout' became 'read_timeout'",
            ],
        ),
        (
            "  proxy . 10.0.0.1 {\n    spray\n    fail_timeout 5s\n    policy round_robin\n    health_check /health:8080 10s\n  }",
            "  forward . 10.0.0.1 {\n    policy round_robin\n  }",
            &[
                "'proxy' became 'forward'",
                "removed 'spray'",
                "removed 'fail_timeout 5s'",
                "removed 'health_check /health:8080 10s'",
            ],
        ),
        (
            "  proxy . 10.0.0.1 {\n    protocol https_google bootstrap 8.8.8.8\n  }",
            "  forward . 10.0.0.1",
            &["'proxy' became 'forward'", "removed 'protocol https_google bootstrap 8.8.8.8'"],
        ),
        (
            "  proxy . 10.0.0.1 {\n    protocol grpc insecure\n    health_check 1s\n  }",
            "  forward . 10.0.0.1 {\n    health_check 1s\n  }",
            &["'proxy' became 'forward'", "removed 'protocol grpc insecure'"],
        ),
        (
            "  proxy . 10.0.0.1 {\n    protocol dns\n  }",
            "  forward . 10.0.0.1",
            &["'proxy' became 'forward'", "removed 'protocol dns'"],
        ),
    ] {
        check_block(before, after, changes);
        check_loads(&format!("example.org {{\n{after}\n}}\n"));
    }
}

/// The proxy with the longest zone answered; of several forwards the first match does.
#[test]
fn proxies_with_nested_zones() {
    let proxies = |first: &str, second: &str| [first, second].map(|line| line.to_owned()).join("\n");
    let became = "'proxy' became 'forward'";
    for (before, after, added) in [
        (
            proxies("  proxy . 10.0.0.1", "  proxy a.example 10.0.0.2"),
            "  forward . 10.0.0.1 {\n    except a.example\n  }\n  forward a.example 10.0.0.2",
            "added 'except a.example'",
        ),
        (
            proxies("  proxy . 10.0.0.1 {\n    spray\n  }", "  proxy a.example 10.0.0.2"),
            "  forward . 10.0.0.1 {\n    except a.example\n  }\n  forward a.example 10.0.0.2",
            "added 'except a.example'",
        ),
        (
            proxies("  proxy . 10.0.0.1 { # all\n   max_fails 1\n  }", "  proxy a.example 10.0.0.2"),
            "  forward . 10.0.0.1 { # all\n   except a.example\n   max_fails 1\n  }\n  forward a.example 10.0.0.2",
            "added 'except a.example'",
        ),
    ] {
        let migrated = run(&format!("example.org {{\n{before}\n}}\n"));
        assert_eq!(migrated.result, format!("example.org {{\n{after}\n}}\n"));
        let what: Vec<&str> = migrated.changes.iter().map(|change| change.what.as_str()).collect();
        assert!(what.contains(&became) && what.contains(&added), "{what:?}");
        check_loads(&migrated.result);
    }
    check_block(
        "  proxy a.example 10.0.0.2\n  proxy . 10.0.0.1",
        "  forward a.example 10.0.0.2\n  forward . 10.0.0.1",
        &[became, became],
    );
}

#[test]
fn kubernetes() {
    for (before, after, changes) in [
        (
            "    kubernetes cluster.local {\n        upstream /etc/resolv.conf\n        resyncperiod 5m\n        pods verified\n    }",
            "    kubernetes cluster.local {\n        pods verified\n    }",
            &["removed 'upstream /etc/resolv.conf'", "removed 'resyncperiod 5m'"][..],
        ),
        (
            "    kubernetes cluster.local {\n        upstream\n    }",
            "    kubernetes cluster.local",
            &["removed 'upstream'"],
        ),
        (
            "    kubernetes {\n        endpoint https://a:6443 https://b:6443\n    }",
            "    kubernetes {\n        endpoint https://a:6443\n    }",
            &["'endpoint https://a:6443 https://b:6443' became 'endpoint https://a:6443'"],
        ),
        (
            "    kubernetes {\n        endpoint https://a:6443,https://b:6443\n    }",
            "    kubernetes {\n        endpoint https://a:6443\n    }",
            &["'endpoint https://a:6443,https://b:6443' became 'endpoint https://a:6443'"],
        ),
        (
            "    kubernetes cluster.local 10.0.0.0/24 {\n        pods insecure\n        transfer to *\n        transfer to 10.1.1.1 10.1.1.2\n    }\n    errors",
            "    kubernetes cluster.local 10.0.0.0/24 {\n        pods insecure\n    }\n    transfer cluster.local 10.0.0.0/24 {\n        to * 10.1.1.1 10.1.1.2\n    }\n    errors",
            &["'transfer to' became 'transfer cluster.local 10.0.0.0/24 { to * 10.1.1.1 10.1.1.2 }'"],
        ),
        (
            "    kubernetes cluster.local {\n        federation prod fed.example\n        federation test test.example\n        cidrs 10.0.0.0/24 10.1.0.0/24\n    }",
            "    kubernetes cluster.local 10.0.0.0/24 10.1.0.0/24\n    federation cluster.local {\n        prod fed.example\n        test test.example\n    }",
            &[
                "'federation prod fed.example' moved to the plugin 'federation'",
                "'federation test test.example' moved to the plugin 'federation'",
                "'cidrs 10.0.0.0/24 10.1.0.0/24' moved to the zones of 'kubernetes'",
            ],
        ),
        (
            "    kubernetes {\n        cidrs 10.0.0.0/24\n    }",
            "    kubernetes",
            &["removed 'cidrs 10.0.0.0/24'"],
        ),
        (
            "    kubernetes {\n        pods verified\n        autopath 2 NXDOMAIN /etc/resolv.conf\n    }",
            "    kubernetes {\n        pods verified\n    }\n    autopath @kubernetes",
            &["'autopath 2 NXDOMAIN /etc/resolv.conf' became the plugin 'autopath @kubernetes'"],
        ),
    ] {
        check_block(before, after, changes);
        check_loads(&format!("example.org {{\n{after}\n}}\n"));
    }
}

#[test]
fn zones_from_files_and_elsewhere() {
    for (before, after, changes) in [
        (
            "\tfile db.example.org {\n\t\ttransfer to *\n\t\tupstream 8.8.8.8\n\t}",
            "\tfile db.example.org\n\ttransfer {\n\t\tto *\n\t}",
            &["'transfer to' became 'transfer { to * }'", "removed 'upstream 8.8.8.8'"][..],
        ),
        (
            "\tfile \"db of a\" a.example b.example {\n\t\tno_reload\n\t\ttransfer to 10.0.0.1:53\n\t}",
            "\tfile \"db of a\" a.example b.example {\n\t\treload 0\n\t}\n\ttransfer a.example b.example {\n\t\tto 10.0.0.1:53\n\t}",
            &[
                "'no_reload' became 'reload 0'",
                "'transfer to' became 'transfer a.example b.example { to 10.0.0.1:53 }'",
            ],
        ),
        (
            "\tauto a.example {\n\t\tdirectory /zones (.*) {1} 30 # seconds\n\t\tupstream\n\t}",
            "\tauto a.example {\n\t\tdirectory /zones (.*) {1} # seconds\n\t\treload 30s\n\t}",
            &["the interval '30' of 'directory' became 'reload 30s'", "removed 'upstream'"],
        ),
        (
            "\tauto {\n\t\tdirectory /zones (.*) {1} 30\n\t\treload 10s\n\t\tno_reload\n\t}",
            "\tauto {\n\t\tdirectory /zones (.*) {1}\n\t\treload 10s\n\t}",
            &["the interval '30' of 'directory' became 'reload 30s'", "removed 'no_reload'"],
        ),
        (
            "\tsecondary a.example {\n\t\ttransfer from 10.0.0.1\n\t\ttransfer to *\n\t\tupstream\n\t}",
            "\tsecondary a.example {\n\t\ttransfer from 10.0.0.1\n\t}\n\ttransfer a.example {\n\t\tto *\n\t}",
            &["'transfer to' became 'transfer a.example { to * }'", "removed 'upstream'"],
        ),
        (
            "\tetcd {\n\t\tstubzones\n\t\tpath /skydns\n\t\tdebug\n\t\tupstream 8.8.8.8\n\t}",
            "\tetcd {\n\t\tpath /skydns\n\t}",
            &["removed 'stubzones'", "removed 'debug'", "removed 'upstream 8.8.8.8'"],
        ),
        (
            "\ttemplate IN A {\n\t\tupstream\n\t\tanswer \"{{ .Name }} 60 IN A 10.0.0.1\"\n\t}",
            "\ttemplate IN A {\n\t\tanswer \"{{ .Name }} 60 IN A 10.0.0.1\"\n\t}",
            &["removed 'upstream'"],
        ),
    ] {
        check_block(before, after, changes);
    }
}

#[test]
fn commands_on_events() {
    check_block(
        "    startup /bin/first \"with words\" &\n    shutdown /bin/last",
        "    on startup /bin/first \"with words\" &\n    on shutdown /bin/last",
        &["'startup' became 'on startup'", "'shutdown' became 'on shutdown'"],
    );
}

/// Current options stay.
#[test]
fn current_options_stay() {
    for body in [
        "    errors\n    log\n    cache 30\n    hosts {\n        10.0.0.1 a\n        fallthrough\n    }\n    autopath @kubernetes",
        "    forward . 1.1.1.1 {\n        policy sequential\n        health_check 5s\n        except a.example\n    }",
        "    federation cluster.local {\n        prod fed.example\n    }",
        "    transfer {\n        to *\n    }\n    file db.a",
        "    secondary {\n        transfer from 10.0.0.1\n    }",
    ] {
        check_block(body, body, &[]);
    }
}

#[test]
fn hints() {
    for (text, expected) in [
        (
            ". {\n  kubernetes cluster.local\n}\n",
            &[
                "note: 1: 'ready' is missing: it reports readiness to Kubernetes; kubeadm's Corefile has it",
                "note: 1: 'loop' is missing: it detects forwarding loops at startup; kubeadm's Corefile has it",
                "note: 1: 'reload' is missing: it applies changes of the Corefile; kubeadm's Corefile has it",
            ][..],
        ),
        (". {\n  kubernetes cluster.local\n  ready\n  loop\n}\n.:54 {\n  reload\n}\n", &[]),
        (
            ". {\n  ready\n  loop\n  reload\n  kubernetes cluster.local {\n    upstream\n  }\n}\n",
            &[
                "6: removed 'upstream'",
                "note: 5: 'kubernetes' answers queries for * and any, as CoreDNS did up to 1.8, only with the option 'wildcards'",
            ],
        ),
        (
            "(common) {\n  proxy . 10.0.0.1\n}\nimport more/*.server\n. {\n  import common\n  import other\n  log stdout\n  reverse 10.0.0.0/8\n}\n",
            &[
                "2: 'proxy' became 'forward'",
                "note: 4: 'import more/*.server' is not followed; migrate the imported files separately",
                "note: 7: 'import other' is not followed; migrate the imported files separately",
                "note: 8: 'log' reads 'stdout' as a zone name since CoreDNS 1.0; remove it",
                "note: 9: 'reverse' was removed in CoreDNS 1.2 and is kept as it is: replace it by 'template'",
            ],
        ),
        (
            ". {\n  ready\n  loop\n  reload\n  kubernetes cluster.local {\n    upstream\n    wildcards\n  }\n}\n",
            &["6: removed 'upstream'"],
        ),
        (
            ". {\n  kubernetes {\n    autopath\n  }\n  ready\n  loop\n  reload\n}\n",
            &[
                "3: 'autopath' became the plugin 'autopath @kubernetes'",
                "note: 2: 'kubernetes' answers queries for * and any, as CoreDNS did up to 1.8, only with the option 'wildcards'",
                "note: 3: 'autopath @kubernetes' needs 'pods verified'",
            ],
        ),
    ] {
        assert_eq!(report_lines(&run(text)), expected, "{text}");
    }
}
