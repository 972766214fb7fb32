//! `http_server_config`, `basic_auth_users` and `rate_limit`.

use std::collections::BTreeMap;
use std::time::Duration;

use golang::GoDuration;
use serde::Deserialize;
use server::http::{Rate, check_hash};

/// User names and bcrypt hashes.
pub(super) type Users = BTreeMap<String, String>;

/// The headers that can be set, and their values where these are an enumeration.
const HEADERS: &[(&str, &[&str])] = &[
    ("Strict-Transport-Security", &[]),
    ("X-Content-Type-Options", &["nosniff"]),
    ("X-Frame-Options", &["deny", "sameorigin"]),
    ("X-XSS-Protection", &[]),
    ("Content-Security-Policy", &[]),
];

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HttpSection {
    http2: Option<bool>,
    headers: Option<BTreeMap<String, String>>,
}

impl HttpSection {
    pub fn http2(&self) -> bool {
        self.http2.unwrap_or(true)
    }

    pub fn headers(self) -> Result<Vec<(String, String)>, String> {
        let headers = self.headers.unwrap_or_default();
        for (name, value) in &headers {
            let Some((_, values)) = HEADERS.iter().find(|(known, _)| known == name) else {
                return Err(format!("headers: HTTP header {name:?} can not be configured"));
            };
            if !values.is_empty() && !values.contains(&value.as_str()) {
                return Err(format!(
                    "headers: invalid value for {name}. Expected one of: {values:?}, but got: {value:?}"
                ));
            }
            if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
                return Err(format!(
                    "headers: {name}: expected a value without control characters, got {value:?}"
                ));
            }
        }
        // An empty value switches a header off.
        Ok(headers.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }
}

/// Validates the bcrypt hashes.
pub(super) fn users(users: Users) -> Result<Users, String> {
    for (user, hash) in &users {
        check_hash(hash).map_err(|error| {
            format!(
                "basic_auth_users: {user}: not a bcrypt hash: {error}; make one with htpasswd -nBC 10 {user}"
            )
        })?;
    }
    Ok(users)
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RateSection {
    interval: Option<Interval>,
    burst: i64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Interval {
    Nanoseconds(i64),
    Text(String),
}

impl RateSection {
    pub fn rate(self) -> Result<Option<Rate>, String> {
        let interval = match self.interval {
            None => None,
            Some(Interval::Nanoseconds(nanos)) => u64::try_from(nanos).ok().map(Duration::from_nanos),
            Some(Interval::Text(text)) => GoDuration::parse(&text)
                .map_err(|error| format!("rate_limit: interval: {error}"))?
                .above_zero(),
        };
        let interval = interval.filter(|interval| !interval.is_zero());
        let burst = u32::try_from(self.burst.max(0)).unwrap_or(u32::MAX);
        Ok(interval.map(|interval| Rate { interval, burst }))
    }
}
