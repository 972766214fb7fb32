//! Out-of-bailiwick records from an upstream are neither served nor cached.

use super::*;

const EVIL: &str = "203.0.113.66";

/// Adds forged records for `bank.example` to every reply.
fn poisoning_upstream() -> ScriptedUpstream {
    let up = ScriptedUpstream::start().expect("an upstream");
    let in_answer = format!("@ 60 IN A 192.0.2.1\nbank.example. 60 IN A {EVIL}");
    let alias = format!("other.example. 60 IN CNAME bank.example.\nbank.example. 60 IN A {EVIL}");
    let reply = |reply: Result<Reply, testkit::Error>| [Step::Reply(reply.expect("records"))];
    up.on("answer", reply(Reply::rcode(0).answer(&in_answer)));
    up.on("only", reply(Reply::rcode(0).answer(&alias)));
    up.on("authority", reply(Reply::rcode(0).authority("bank.example. 60 IN NS ns.evil.")));
    up.on(
        "glue",
        reply(
            Reply::rcode(0)
                .authority("bank.example. 60 IN NS ns.evil.")
                .and_then(|reply| reply.additional(&format!("ns.evil. 60 IN A {EVIL}"))),
        ),
    );
    up.on("additional", reply(Reply::rcode(0).additional(&format!("bank.example. 60 IN A {EVIL}"))));
    up.on("bank.example", [a("192.0.2.80")]);
    up
}

#[test]
fn out_of_bailiwick_records_are_neither_served_nor_cached() {
    for block in ["", "cache\n"] {
        let up = poisoning_upstream();
        let service = service(&format!(". {{\n {block} forward . {}\n}}", up.addr()));
        // Twice: with a cache the second reply comes from there.
        for question in ["answer", "only", "authority", "glue", "additional"] {
            for _ in 0..2 {
                let reply = answer(&service, &format!("{question}.example A"));
                assert!(reply.starts_with("NOERROR"), "{question}: {reply}");
                assert!(!reply.contains("bank") && !reply.contains("evil"), "{question}: {reply}");
                assert_eq!(reply.contains("192.0.2.1"), question == "answer", "{question}: {reply}");
            }
        }
        assert_eq!(up.count("bank.example"), 0);
        for _ in 0..2 {
            assert!(answer(&service, "bank.example A").ends_with("A 192.0.2.80"));
        }
        assert!(up.count("bank.example") > 0, "queried, not cached");
    }
}
