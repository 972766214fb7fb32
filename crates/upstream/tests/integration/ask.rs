//! Queries and summaries of answers, shared by all tests.

use std::sync::Arc;
use std::time::Duration;

use testkit::message::Message;
use testkit::scripted_upstream::{ScriptedUpstream, Step};
use upstream::{Answer, Error, Network, Options, Scheme, Upstream};
use wire::{NameBuf, Query, Rtype};

/// The id of every query; on the wire it is another one.
pub const ID: u16 = 0xBEEF;

pub fn query(name: &str) -> Vec<u8> {
    let mut query = Query::ask(NameBuf::parse(name).unwrap().as_name(), Rtype::A);
    query.id = ID;
    query.to_packet()
}

pub fn good() -> Step {
    Step::address("192.0.2.1", 300).unwrap()
}

/// An upstream with a short timeout.
pub fn to(server: &ScriptedUpstream, change: impl FnOnce(&mut Options)) -> Arc<Upstream> {
    let mut options = Options::new(Scheme::Dns, server.addr());
    options.read_timeout = Duration::from_millis(500);
    change(&mut options);
    Upstream::new(options)
}

pub async fn ask(upstream: &Upstream, name: &str, network: Network) -> Result<Answer, Error> {
    upstream.exchange(&query(name), network, 512).await
}

/// Rcode, flags and answers in one line, or the error without ports.
pub fn summary(result: &Result<Answer, Error>) -> String {
    match result {
        Ok(answer) => {
            let message = Message::decode(&answer.message);
            assert_eq!((message.id, &message.broken), (ID, &None));
            let answers: Vec<String> = message.answer.iter().map(ToString::to_string).collect();
            format!("{} {} {}", message.rcode(), message.flags(), answers.join(", ")).trim_end().to_owned()
        }
        Err(error) => without_ports(&error.to_string()),
    }
}

pub fn without_ports(text: &str) -> String {
    let mut parts = text.split("127.0.0.1:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + "HOST" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// The value of a metric of this upstream, 0 if it is not exposed.
pub fn metric(name: &str, labels: &str) -> f64 {
    let start = format!("{name}{{{labels}}} ");
    let text = metrics::registry().encode();
    text.lines().find_map(|line| line.strip_prefix(&start)).map_or(0.0, |value| value.parse().unwrap())
}
