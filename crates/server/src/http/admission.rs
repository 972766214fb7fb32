//! Admission of HTTP requests: rate limit and authentication of a web configuration.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::password::{Credentials, Passwords};
use super::rate::Bucket;
use super::{Rate, Rules, SharedWebSource};
use crate::log;

/// The admission state of one address.
#[derive(Default)]
pub(super) struct Admission {
    bucket: Mutex<Option<Bucket>>,
    passwords: Passwords,
}

/// The decision about a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The status of the refusal; None if the request is admitted.
    pub refused: Option<u16>,
    /// Headers for the answer, admitted or refused.
    pub headers: Vec<(String, String)>,
}

impl Admission {
    pub async fn admit(&self, web: &SharedWebSource, authorization: Option<&[u8]>) -> Verdict {
        let web = Arc::clone(web);
        // Reads files.
        let rules = tokio::task::spawn_blocking(move || web.rules()).await;
        let rules = match rules.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(rules) => rules,
            Err(error) => {
                log::error(None, format_args!("HTTP: reading the web configuration failed: {error}"));
                return Verdict { refused: Some(500), ..Verdict::default() };
            }
        };
        if rules.rate.is_some_and(|rate| !self.is_within_rate(rate)) {
            return Verdict { refused: Some(429), ..Verdict::default() };
        }
        let authenticated = rules.users.is_empty() || self.authenticate(&rules, authorization).await;
        let mut verdict = Verdict { refused: None, headers: rules.headers };
        if !authenticated {
            verdict.refused = Some(401);
            verdict.headers.push(("WWW-Authenticate".to_owned(), "Basic".to_owned()));
        }
        verdict
    }

    fn is_within_rate(&self, rate: Rate) -> bool {
        let now = Instant::now();
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.get_or_insert_with(|| Bucket::new(rate, now)).take(rate, now)
    }

    async fn authenticate(&self, rules: &Rules, authorization: Option<&[u8]>) -> bool {
        match authorization.and_then(Credentials::parse) {
            Some(credentials) => self.passwords.check(&rules.users, &credentials).await,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::http::WebSource;

    struct Fixed(Result<Rules, String>);

    impl WebSource for Fixed {
        fn tls(&self) -> Result<Option<tls::ServerSettings>, String> {
            Ok(None)
        }

        fn rules(&self) -> Result<Rules, String> {
            self.0.clone()
        }
    }

    #[tokio::test]
    async fn verdicts() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let own = header("X-Frame-Options", "deny");
        let users = BTreeMap::from([("me".to_owned(), bcrypt::hash("secret", 4).unwrap())]);
        let rules = Rules { users, headers: vec![own.clone()], rate: None };
        let admission = Admission::default();
        let web = |rules| -> SharedWebSource { Arc::new(Fixed(rules)) };
        let good = web(Ok(rules.clone()));
        let refused =
            Verdict { refused: Some(401), headers: vec![own.clone(), header("WWW-Authenticate", "Basic")] };
        let admitted = Verdict { refused: None, headers: vec![own] };
        // me:wrong, then me:secret.
        assert_eq!(admission.admit(&good, None).await, refused);
        assert_eq!(admission.admit(&good, Some(b"Basic bWU6d3Jvbmc=")).await, refused);
        assert_eq!(admission.admit(&good, Some(b"Basic bWU6c2VjcmV0")).await, admitted);
        let open = web(Ok(Rules { users: BTreeMap::new(), ..rules.clone() }));
        assert_eq!(admission.admit(&open, None).await, admitted);
        assert_eq!(admission.admit(&web(Err("gone".to_owned())), None).await.refused, Some(500));

        // The rate limit is checked first.
        let rate = Rate { interval: Duration::from_secs(3600), burst: 1 };
        let slow = web(Ok(Rules { rate: Some(rate), ..rules }));
        assert_eq!(admission.admit(&slow, None).await.refused, Some(401));
        let limited = Verdict { refused: Some(429), headers: Vec::new() };
        assert_eq!(admission.admit(&slow, Some(b"Basic bWU6c2VjcmV0")).await, limited);
    }
}
