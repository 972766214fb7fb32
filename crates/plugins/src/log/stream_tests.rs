//! What the query log, `errors` and the metrics report of a reply in several messages: as CoreDNS, one line and one
//! response, with the size of all messages.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::task::{Context, Poll};
use std::time::Duration;

use server::{
    Availability, Input, Message, Messages, Part, Plugin, PluginSpec, Server, Step, StreamError, Visit,
    config,
};
use wire::{NameBuf, Owner, Query, Rtype, Section};

use super::capture::Capture;

struct Source;

/// Three messages of one record each, or a failure after the first for names that start with `f`.
struct ThreeMessages(u8);

impl Plugin for Source {
    fn name(&self) -> &'static str {
        "source"
    }

    fn query(&self, _visit: &mut Visit<'_>) -> Step {
        Step::Stream(Box::new(ThreeMessages(0)))
    }
}

impl Messages for ThreeMessages {
    fn poll_next(
        &mut self,
        _context: &mut Context<'_>,
        message: &mut Message<'_>,
    ) -> Poll<Result<Part, StreamError>> {
        self.0 += 1;
        if self.0 == 2 && message.query.question.lower().to_string().starts_with('f') {
            return Poll::Ready(Err(StreamError::new("the journal is gone")));
        }
        message.reply.push(Section::Answer, Owner::Question(0), Rtype::A, 30, &[10, 0, 0, self.0]);
        Poll::Ready(Ok(if self.0 == 3 { Part::Last } else { Part::More }))
    }
}

/// Reads until the server closes the connection or three messages are complete.
fn transfer(port: u16, name: &str) -> usize {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
    let packet = Query::ask(NameBuf::parse(name).expect("a name").as_name(), Rtype::AXFR).to_packet();
    let frame = [&(packet.len() as u16).to_be_bytes()[..], &packet].concat();
    stream.write_all(&frame).expect("sent");
    let mut messages = 0;
    let mut len = [0; 2];
    while messages < 3 && stream.read_exact(&mut len).is_ok() {
        let mut message = vec![0; usize::from(u16::from_be_bytes(len))];
        stream.read_exact(&mut message).expect("a whole message");
        messages += 1;
    }
    messages
}

#[test]
fn a_stream_is_one_line_and_one_response() {
    let log = Capture::take();
    let (port, http) = (testkit::ports::free().expect("a port"), testkit::ports::free().expect("a port"));
    let text = format!(".:{port} {{\nbind 127.0.0.1\nprometheus 127.0.0.1:{http}\nerrors\nlog\nsource\n}}\n");
    let source = PluginSpec {
        name: "source",
        about: "",
        availability: Availability::Available(|setup| {
            setup.add(Source);
            Ok(())
        }),
    };
    let plugins: Vec<PluginSpec> = crate::PLUGINS.iter().copied().chain([source]).collect();
    let input = Input { name: "Corefile".into(), contents: text.into(), dns_port: "53".into() };
    let built = config::build(&input, &plugins, &corefile::Disk).map_err(|errors| errors[0].to_string());
    let server = Server::start(built.expect("a configuration")).expect("it starts");

    let metric = |name: &str, labels: &str| {
        let start = format!("{name}{{{labels},view=\"\",zone=\".\"}} ");
        let text = metrics::registry().encode();
        text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or("none").to_owned()
    };
    let at = format!("server=\"dns://127.0.0.1:{port}\"");
    // The question's name, messages received, the end of the query line without the duration, the other lines.
    let cases = [
        ("zone.example.", 3, "\"AXFR IN zone.example. tcp 30 false 65535\" NOERROR qr,rd 174 ", &[][..]),
        (
            "fails.example.",
            1,
            "\"AXFR IN fails.example. tcp 31 false 65535\" SERVFAIL qr,rd 31 ",
            &[
                "failed after 1 messages, 47 octets: the journal is gone",
                "2 fails.example. AXFR: the journal is gone",
            ],
        ),
    ];
    for (name, messages, line, others) in cases {
        assert_eq!(transfer(port, name), messages, "{name}");
        let mut lines = Vec::new();
        let end = std::time::Instant::now() + Duration::from_secs(10);
        while lines.len() < 1 + others.len() {
            assert!(std::time::Instant::now() < end, "{name}: {lines:?}");
            lines.extend(log.lines(name));
        }
        assert_eq!(lines.iter().filter(|logged| logged.contains(line)).count(), 1, "{name}: {lines:?}");
        for other in others {
            assert_eq!(lines.iter().filter(|line| line.ends_with(other)).count(), 1, "{name}: {lines:?}");
        }
    }
    let good = format!("plugin=\"source\",rcode=\"NOERROR\",{at}");
    let bad = format!("plugin=\"\",rcode=\"SERVFAIL\",{at}");
    assert_eq!(metric("coredns_dns_responses_total", &good), "1");
    assert_eq!(metric("coredns_dns_responses_total", &bad), "1");
    assert_eq!(metric("coredns_dns_response_size_bytes_sum", &format!("proto=\"tcp\",{at}")), "174");
    server.stop();
}
