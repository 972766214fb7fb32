use crate::testing::harness::{check, configure, refused};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\n}}\n", body.replace('|', "\n"))
}

#[test]
fn forms() {
    for body in [
        "timeouts {| read 30s|}",
        "timeouts {| read 10| write 20| idle 60|}",
        "timeouts {| read +10|}",
        "timeouts {| read 24h|}",
        "timeouts {| maxtcpqueries 128|}",
        "timeouts {| maxtcpqueries -1|}",
        "timeouts {| maxtcpqueries +7|}",
        "timeouts {| read 5s|}|timeouts {| write 6s|}",
    ] {
        assert_eq!(configure(&corefile(body)).err(), None, "{body}");
    }
}

#[test]
fn refused_forms() {
    let count = "Wrong argument count or unexpected line ending after";
    let range = "needs to be between 1 second and 24 hours";
    let number = "needs to be -1 (unlimited) or a positive integer";
    let atoi = "strconv.Atoi: parsing";
    for (option, error) in [
        ("read 10s 20s", format!("{count} '20s'")),
        ("read", format!("{count} 'read'")),
        ("giraffe", format!("{count} 'giraffe'")),
        ("read snake", "failed to parse duration 'snake'".into()),
        ("giraffe x", "failed to parse duration 'x'".into()),
        ("read 99999999999", "failed to parse duration '99999999999s'".into()),
        ("read 99999999999999999999", "failed to parse duration '99999999999999999999'".into()),
        ("read \"\"", "failed to parse duration ''".into()),
        ("read 1_0", "failed to parse duration '1_0'".into()),
        ("idle 0s", format!("timeout provided '0s' {range}")),
        ("idle -5", format!("timeout provided '-5s' {range}")),
        ("idle 500ms", format!("timeout provided '500ms' {range}")),
        ("read 48h", format!("timeout provided '48h0m0s' {range}")),
        ("read 24h0m1s", format!("timeout provided '24h0m1s' {range}")),
        ("giraffe 30s", "unknown option: 'giraffe'".into()),
        ("maxtcpqueries 1 2", format!("{count} '2'")),
        ("maxtcpqueries 0", format!("maxtcpqueries provided '0' {number}")),
        ("maxtcpqueries -2", format!("maxtcpqueries provided '-2' {number}")),
        ("maxtcpqueries x", format!("invalid value for maxtcpqueries 'x': {atoi} \"x\": invalid syntax")),
        ("maxtcpqueries \"\"", format!("invalid value for maxtcpqueries '': {atoi} \"\": invalid syntax")),
        (
            "maxtcpqueries 99999999999999999999",
            format!(
                "invalid value for maxtcpqueries '99999999999999999999': \
                 {atoi} \"99999999999999999999\": value out of range"
            ),
        ),
    ] {
        let line = format!("plugin/timeouts: Corefile:3 - Error during parsing: {error}");
        assert_eq!(refused(&corefile(&format!("timeouts {{| {option}|}}"))), line, "{option}");
    }
}

/// As CoreDNS prints them.
#[test]
fn two_errors_name_the_plugin_twice() {
    for (body, error) in [
        ("timeouts", "Corefile:2 - Error during parsing: timeouts block with no timeouts specified"),
        ("timeouts {|}", "Corefile:3 - Error during parsing: timeouts block with no timeouts specified"),
        (
            "timeouts 5s",
            "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after '5s'",
        ),
        (
            "timeouts x {| read 5s|}",
            "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'x'",
        ),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/timeouts: plugin/timeouts: {error}"), "{body}");
    }
}

#[test]
fn adds_nothing_to_the_chain() {
    check(&corefile("timeouts {| read 5s|}"), "example.org A", "REFUSED qr");
}
