//! Go's `net.SplitHostPort` with its errors, for `health`, `ready` and other plugins.

/// Splits host and port and removes the brackets of IPv6. Neither part is validated.
pub fn split_host_port(text: &str) -> Result<(&str, &str), String> {
    let error = |reason: &str| match text {
        "" => Err(reason.to_owned()),
        _ => Err(format!("address {text}: {reason}")),
    };
    let missing_port = "missing port in address";
    let too_many = "too many colons in address";
    let Some(colon) = text.rfind(':') else { return error(missing_port) };
    let (host, before, after) = if let Some(inside) = text.strip_prefix('[') {
        let Some(end) = text.find(']') else { return error("missing ']' in address") };
        match text[end + 1..].find(':') {
            Some(0) if end + 1 == colon => {}
            // The port's colon is not the last one, or there is only one inside the brackets.
            Some(0) => return error(too_many),
            _ => return error(missing_port),
        }
        (&text[1..end], inside, &text[end + 1..])
    } else {
        if text[..colon].contains(':') {
            return error(too_many);
        }
        (&text[..colon], text, text)
    };
    if before.contains('[') {
        return error("unexpected '[' in address");
    }
    if after.contains(']') {
        return error("unexpected ']' in address");
    }
    Ok((host, &text[colon + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of Go's `net.SplitHostPort`.
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
