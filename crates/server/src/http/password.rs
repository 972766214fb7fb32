//! Basic authentication with bcrypt hashes.
//!
//! A hash costs tens of milliseconds on purpose. Results are cached, so that a scraper pays once; and only one hash is
//! computed at a time, so that guessing exhausts neither CPUs nor threads.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bcrypt::HashParts;
use sha2::{Digest, Sha256};

/// Maximum number of cached results.
const CACHE_CAPACITY: usize = 100;

/// The range of bcrypt's cost parameter.
const COSTS: std::ops::RangeInclusive<u32> = 4..=31;

/// Checks that a text is a bcrypt hash.
pub fn check_hash(hash: &str) -> Result<(), String> {
    let parts: HashParts = hash.parse().map_err(|error: bcrypt::BcryptError| error.to_string())?;
    match parts.get_cost() {
        cost if COSTS.contains(&cost) => Ok(()),
        cost => Err(format!("bcrypt cost: expected {} to {}, got {cost}", COSTS.start(), COSTS.end())),
    }
}

/// A user name and a password, as received.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Credentials {
    user: String,
    password: Vec<u8>,
}

impl Credentials {
    /// From an `Authorization` header.
    pub fn parse(header: &[u8]) -> Option<Credentials> {
        let (scheme, rest) = header.split_at_checked(6)?;
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return None;
        }
        let decoded = BASE64_STANDARD.decode(rest).ok()?;
        let colon = decoded.iter().position(|byte| *byte == b':')?;
        let user = String::from_utf8(decoded[..colon].to_vec()).ok()?;
        Some(Credentials { user, password: decoded[colon + 1..].to_vec() })
    }
}

/// The cache of compared passwords.
#[derive(Default)]
pub(super) struct Passwords {
    /// Results by a digest, so that passwords do not stay in memory.
    results: Mutex<HashMap<[u8; 32], bool>>,
    hashing: tokio::sync::Mutex<()>,
}

impl Passwords {
    /// Whether the credentials are those of a user.
    pub async fn check(&self, users: &BTreeMap<String, String>, credentials: &Credentials) -> bool {
        let Credentials { user, password } = credentials;
        let hash = users.get(user);
        // An unknown user costs a comparison too, or the time would reveal which users exist.
        let Some(compared) = hash.or_else(|| users.values().next()) else { return false };
        let key = digest([user.as_bytes(), compared.as_bytes(), password]);
        let fits = match self.cached(&key) {
            Some(fits) => fits,
            None => self.compute(key, compared, password).await,
        };
        fits && hash.is_some()
    }

    fn cached(&self, key: &[u8; 32]) -> Option<bool> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    async fn compute(&self, key: [u8; 32], hash: &str, password: &[u8]) -> bool {
        let _one_at_a_time = self.hashing.lock().await;
        // The request before may have computed the same.
        if let Some(fits) = self.cached(&key) {
            return fits;
        }
        let (hash, password) = (hash.to_owned(), password.to_vec());
        let hashing = tokio::task::spawn_blocking(move || bcrypt::verify(password, &hash));
        let fits = hashing.await.is_ok_and(|fits| fits.unwrap_or(false));
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if results.len() >= CACHE_CAPACITY {
            // Evicts any tenth; the order of the map is random.
            let mut place = 0;
            results.retain(|_, _| {
                place += 1;
                place > CACHE_CAPACITY / 10
            });
        }
        results.insert(key, fits);
        fits
    }
}

fn digest(parts: [&[u8]; 3]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// bcrypt of `secret`, cost 4, by libxcrypt.
    const HASH: &str = "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";

    fn sent(user: &str, password: &str) -> Credentials {
        let header = format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")));
        Credentials::parse(header.as_bytes()).unwrap()
    }

    #[test]
    fn headers() {
        let me = Credentials { user: "me".to_owned(), password: b"a:b".to_vec() };
        for good in ["Basic bWU6YTpi", "basic bWU6YTpi", "BASIC bWU6YTpi"] {
            assert_eq!(Credentials::parse(good.as_bytes()).as_ref(), Some(&me), "{good}");
        }
        for bad in [
            "",
            "Basic",
            "Basic ",
            "Bearer bWU6YTpi",
            "Basic bWU",
            "Basic !!!!",
            "Basic bWU=",
            "BasicbWU6YTpi",
        ] {
            assert_eq!(Credentials::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[tokio::test]
    async fn users() {
        let users = BTreeMap::from([("me".to_owned(), HASH.to_owned())]);
        let passwords = Passwords::default();
        // The second time from the cache.
        for _ in 0..2 {
            assert!(passwords.check(&users, &sent("me", "secret")).await);
            assert!(!passwords.check(&users, &sent("me", "wrong")).await);
            assert!(!passwords.check(&users, &sent("you", "secret")).await);
            assert!(!passwords.check(&users, &sent("", "")).await);
        }
        assert!(!passwords.check(&BTreeMap::new(), &sent("me", "secret")).await);
        // Cached results do not admit a removed user or an old password.
        let other = bcrypt::hash("other", 4).unwrap();
        assert!(!passwords.check(&BTreeMap::from([("me".to_owned(), other)]), &sent("me", "secret")).await);
        assert!(
            !passwords
                .check(&BTreeMap::from([("you".to_owned(), HASH.to_owned())]), &sent("me", "secret"))
                .await
        );
    }

    #[tokio::test]
    async fn the_cache_is_bounded() {
        let users = BTreeMap::from([("me".to_owned(), HASH.to_owned())]);
        let passwords = Passwords::default();
        for n in 0..CACHE_CAPACITY + 5 {
            assert!(!passwords.check(&users, &sent("me", &n.to_string())).await);
        }
        let results = passwords.results.lock().unwrap().len();
        assert!((CACHE_CAPACITY - 10..=CACHE_CAPACITY).contains(&results), "{results}");
    }

    #[test]
    fn hashes() {
        assert_eq!(check_hash(HASH), Ok(()));
        for bad in ["", "secret", "$2y$10$abc", &HASH.replace("$2y$", "$3y$"), &HASH.replace("$04$", "$99$")]
        {
            assert!(check_hash(bad).is_err(), "{bad}");
        }
    }
}
