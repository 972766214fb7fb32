//! TSIG (RFC 8945): messages signed with a shared key, with HMAC of the provider that TLS uses.
//!
//! ```text
//! request: HMAC(message, variables) ─→ first reply: HMAC(MAC of the request, message, variables)
//!                                        └─→ next: HMAC(previous MAC, unsigned messages, message, timers) ─→ …
//! ```
//!
//! [`MacChain`] is that chain from either end: a client signs and then verifies, a server verifies and then signs.
//! [`SignedSession`] is the client's end around a session, and returns verified messages only.

mod record;

use std::collections::VecDeque;
use std::fmt;
use std::time::SystemTime;

use aws_lc_rs::{constant_time, hmac};
use wire::{NameBuf, Rcode};

use crate::Error;
use crate::session::Messages;
pub use record::Signature;

/// How far the clocks of both ends may differ, in seconds (RFC 8945 §10).
const FUDGE: u16 = 300;
/// Maximum number of messages in a row without a signature (RFC 8945 §5.3.1).
const MAX_UNSIGNED: usize = 99;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    HmacSha1,
    HmacSha224,
    HmacSha256,
    HmacSha384,
    HmacSha512,
}

/// The names of the algorithms, without their final dot.
const ALGORITHMS: [(Algorithm, &str, hmac::Algorithm); 5] = [
    (Algorithm::HmacSha1, "hmac-sha1", hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
    (Algorithm::HmacSha224, "hmac-sha224", hmac::HMAC_SHA224),
    (Algorithm::HmacSha256, "hmac-sha256", hmac::HMAC_SHA256),
    (Algorithm::HmacSha384, "hmac-sha384", hmac::HMAC_SHA384),
    (Algorithm::HmacSha512, "hmac-sha512", hmac::HMAC_SHA512),
];

impl Algorithm {
    /// Reads a name such as `hmac-sha256`, in any case, with or without the final dot.
    pub fn from_name(name: &str) -> Option<Algorithm> {
        let name = name.strip_suffix('.').unwrap_or(name);
        ALGORITHMS.iter().find(|(_, text, _)| text.eq_ignore_ascii_case(name)).map(|row| row.0)
    }

    fn row(self) -> &'static (Algorithm, &'static str, hmac::Algorithm) {
        &ALGORITHMS[self as usize]
    }
}

/// A shared key.
#[derive(Clone)]
pub struct Key {
    /// In lower case, as they are signed.
    name: NameBuf,
    algorithm: NameBuf,
    secret: hmac::Key,
}

impl Key {
    pub fn new(name: &NameBuf, algorithm: Algorithm, secret: &[u8]) -> Key {
        let (_, text, hmac) = algorithm.row();
        let algorithm = NameBuf::parse(text).unwrap_or(NameBuf::root());
        Key { name: name.as_name().to_lower(), algorithm, secret: hmac::Key::new(*hmac, secret) }
    }

    pub fn name(&self) -> &NameBuf {
        &self.name
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({} {})", self.name, self.algorithm)
    }
}

/// Why a message is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsigError {
    /// It has no signature where one is required; with its rcode.
    Unsigned(Rcode),
    /// More than 99 messages in a row have no signature.
    TooManyUnsigned,
    /// The TSIG record, or the message, cannot be decoded.
    Malformed,
    /// It is signed with another key or algorithm.
    BadKey,
    /// The MAC is wrong.
    BadSignature,
    /// The MAC is shorter than the algorithm's.
    Truncated,
    /// It was signed at another time, in seconds, than the clock of this host shows.
    BadTime { signed: u64, now: u64 },
    /// The peer rejects the request's signature: BADKEY, BADSIG, BADTIME or BADTRUNC.
    Rejected(Rcode),
}

impl fmt::Display for TsigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tsig: ")?;
        match self {
            TsigError::Unsigned(rcode) => write!(f, "the reply ({rcode}) is not signed"),
            TsigError::TooManyUnsigned => f.write_str("more than 99 messages without a signature"),
            TsigError::Malformed => f.write_str("malformed message"),
            TsigError::BadKey => f.write_str("signed with another key"),
            TsigError::BadSignature => f.write_str("bad signature"),
            TsigError::Truncated => f.write_str("the MAC is truncated"),
            TsigError::BadTime { signed, now } => {
                write!(f, "signed at {signed}, and the time is {now}: the clocks differ")
            }
            TsigError::Rejected(rcode) => write!(f, "the peer rejects the signature: {rcode}"),
        }
    }
}

/// The MACs of one request and its replies, each of which includes the one before.
pub struct MacChain {
    key: Key,
    previous_mac: Vec<u8>,
    /// Signed messages so far: the request, then its replies.
    signed: u64,
    /// The digest of the messages without signature since the last one with.
    digest: Option<hmac::Context>,
    unsigned: usize,
}

impl MacChain {
    pub fn new(key: Key) -> MacChain {
        MacChain { key, previous_mac: Vec::new(), signed: 0, digest: None, unsigned: 0 }
    }

    /// Appends a signature to a message. `now` is in seconds since 1970.
    pub fn sign(&mut self, message: &mut Vec<u8>, now: u64) {
        let mut signature = Signature {
            key: self.key.name.clone(),
            algorithm: self.key.algorithm.clone(),
            time: now,
            fudge: FUDGE,
            original_id: message.first_chunk().map_or(0, |id| u16::from_be_bytes(*id)),
            ..Signature::default()
        };
        signature.mac = self.mac(message, &signature);
        signature.append(message);
        self.advance(signature.mac);
    }

    /// Verifies the next message and removes its signature. False if it has none, and so counts only once the next
    /// signed one is verified.
    pub fn verify(&mut self, message: &mut Vec<u8>, now: u64) -> Result<bool, TsigError> {
        let Some(signature) = Signature::remove(message)? else { return self.skip(message) };
        if signature.mac.is_empty() && signature.error != Rcode::NOERROR {
            return Err(TsigError::Rejected(signature.error));
        }
        let same = |a: &NameBuf, b: &NameBuf| a.as_name().eq_ignore_case(b.as_name());
        if !same(&signature.key, &self.key.name) || !same(&signature.algorithm, &self.key.algorithm) {
            return Err(TsigError::BadKey);
        }
        let mut original = std::mem::take(message);
        let id: Option<[u8; 2]> = original.first_chunk().copied();
        set_id(&mut original, signature.original_id.to_be_bytes());
        let mac = self.mac(&original, &signature);
        set_id(&mut original, id.unwrap_or_default());
        *message = original;
        if signature.mac.len() < mac.len() {
            return Err(TsigError::Truncated);
        }
        constant_time::verify_slices_are_equal(&mac, &signature.mac).map_err(|_| TsigError::BadSignature)?;
        if signature.error != Rcode::NOERROR {
            return Err(TsigError::Rejected(signature.error));
        }
        if now.abs_diff(signature.time) > u64::from(signature.fudge) {
            return Err(TsigError::BadTime { signed: signature.time, now });
        }
        self.advance(mac);
        Ok(true)
    }

    /// A message without signature: only after the first reply, and only a number of them.
    fn skip(&mut self, message: &[u8]) -> Result<bool, TsigError> {
        if self.signed < 2 {
            let code = message.get(3).map_or(0, |bits| bits & 0xF);
            return Err(TsigError::Unsigned(Rcode(u16::from(code))));
        }
        self.unsigned += 1;
        if self.unsigned > MAX_UNSIGNED {
            return Err(TsigError::TooManyUnsigned);
        }
        let mut digest = self.digest();
        digest.update(message);
        self.digest = Some(digest);
        Ok(false)
    }

    fn mac(&mut self, message: &[u8], signature: &Signature) -> Vec<u8> {
        let mut digest = self.digest();
        digest.update(message);
        let is_first_reply_or_request = self.signed < 2;
        digest.update(&if is_first_reply_or_request { signature.variables() } else { signature.timers() });
        digest.sign().as_ref().to_vec()
    }

    fn digest(&mut self) -> hmac::Context {
        self.digest.take().unwrap_or_else(|| {
            let mut digest = hmac::Context::with_key(&self.key.secret);
            if self.signed > 0 {
                digest.update(&(self.previous_mac.len() as u16).to_be_bytes());
                digest.update(&self.previous_mac);
            }
            digest
        })
    }

    fn advance(&mut self, mac: Vec<u8>) {
        self.previous_mac = mac;
        self.signed += 1;
        self.unsigned = 0;
    }
}

fn set_id(message: &mut [u8], id: [u8; 2]) {
    if let Some(first) = message.first_chunk_mut() {
        *first = id;
    }
}

/// Signs what is sent over a session and verifies what is received.
pub struct SignedSession<S> {
    session: S,
    key: Key,
    chain: MacChain,
    /// Verified messages that were not returned yet.
    verified: VecDeque<Vec<u8>>,
}

impl<S: Messages> SignedSession<S> {
    pub fn new(session: S, key: Key) -> SignedSession<S> {
        SignedSession { session, chain: MacChain::new(key.clone()), key, verified: VecDeque::new() }
    }
}

impl<S: Messages> Messages for SignedSession<S> {
    async fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        let mut message = message.to_vec();
        self.verified.clear();
        self.chain = MacChain::new(self.key.clone());
        self.chain.sign(&mut message, unix_time());
        self.session.send(&message).await
    }

    async fn receive(&mut self, message: &mut Vec<u8>) -> Result<(), Error> {
        while self.verified.is_empty() {
            // Messages without signature are kept until the one with follows.
            let mut waiting = VecDeque::new();
            loop {
                let mut next = Vec::new();
                self.session.receive(&mut next).await?;
                let is_signed = self.chain.verify(&mut next, unix_time()).map_err(Error::Tsig)?;
                waiting.push_back(next);
                if is_signed {
                    break;
                }
            }
            self.verified = waiting;
        }
        *message = self.verified.pop_front().unwrap_or_default();
        Ok(())
    }
}

fn unix_time() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
