//! `HOST:PORT` as Go splits it, with Go's complaints: what it takes, `health`, `ready` and others take.

/// Host and port, the brackets of IPv6 taken off. Neither is looked at any further.
pub fn split_host_port(text: &str) -> Result<(&str, &str), String> {
    let wrong = |why: &str| match text {
        "" => Err(why.to_owned()),
        _ => Err(format!("address {text}: {why}")),
    };
    let missing_port = "missing port in address";
    let too_many = "too many colons in address";
    let Some(colon) = text.rfind(':') else { return wrong(missing_port) };
    let (host, before, after) = if let Some(inside) = text.strip_prefix('[') {
        let Some(end) = text.find(']') else { return wrong("missing ']' in address") };
        match text[end + 1..].find(':') {
            Some(0) if end + 1 == colon => {}
            // The port's colon is not the last one, or there is only one inside the brackets.
            Some(0) => return wrong(too_many),
            _ => return wrong(missing_port),
        }
        (&text[1..end], inside, &text[end + 1..])
    } else {
        if text[..colon].contains(':') {
            return wrong(too_many);
        }
        (&text[..colon], text, text)
    };
    if before.contains('[') {
        return wrong("unexpected '[' in address");
    }
    if after.contains(']') {
        return wrong("unexpected ']' in address");
    }
    Ok((host, &text[colon + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Go's `net.SplitHostPort` prints them.
    #[test]
    fn addresses() {
        for (text, result) in [
            (":8080", Ok(("", "8080"))),
            ("localhost:http", Ok(("localhost", "http"))),
            (":", Ok(("", ""))),
            ("[::1]:80", Ok(("::1", "80"))),
            ("[fe80::1%eth0]:80", Ok(("fe80::1%eth0", "80"))),
            ("", Err("missing port in address")),
            ("8080", Err("address 8080: missing port in address")),
            ("a:b:c", Err("address a:b:c: too many colons in address")),
            ("::1", Err("address ::1: too many colons in address")),
            ("[::1]", Err("address [::1]: missing port in address")),
            ("[::1", Err("address [::1: missing ']' in address")),
            ("[::1]x:80", Err("address [::1]x:80: missing port in address")),
            ("[::1]:8:0", Err("address [::1]:8:0: too many colons in address")),
            ("a[b:80", Err("address a[b:80: unexpected '[' in address")),
            ("a]b:80", Err("address a]b:80: unexpected ']' in address")),
            ("[a[b]:80", Err("address [a[b]:80: unexpected '[' in address")),
            ("[a]b]:80", Err("address [a]b]:80: missing port in address")),
            ("[a]:b]", Err("address [a]:b]: unexpected ']' in address")),
        ] {
            assert_eq!(split_host_port(text), result.map_err(str::to_owned), "{text}");
        }
    }
}
