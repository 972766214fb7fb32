//! Streams whose source waits, fails or panics, and clients that do not read.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use server::{Server, log};
use wire::Rcode;

use super::client::{Answer, Transport, ask, packet, read_frame, send_frame};
use super::{ONE_AT_A_TIME, addresses, build, shapes, wait_until};

/// What the sockets of an unread loopback connection may buffer.
const KERNEL_BUFFERS: usize = 16 << 20;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn take(&self, mark: &str) -> Vec<String> {
        log::flush();
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8_lossy(&bytes)
            .lines()
            .filter(|line| line.contains(mark))
            .map(str::to_owned)
            .collect()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a test against a server with a streaming plugin and short timeouts.
fn served(check: impl FnOnce(SocketAddr, &Lines)) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = Lines::default();
    log::set_output(Box::new(lines.clone()));
    let server = Server::start(build(".:0 {\nbind_loopback\nhasty\ntotal\nrewrite\ntransfer\ndata now\n}\n"))
        .expect("it starts");
    shapes::reset();
    check(server.addresses()[0], &lines);
    assert!(server.stop(), "nothing is left in flight");
    log::set_output(Box::new(io::stdout()));
}

fn transfer(addr: SocketAddr, question: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
    send_frame(&mut stream, &packet(question, 7));
    stream
}

#[test]
fn a_stream_ends_whole_or_with_a_closed_connection() {
    served(|addr, lines| {
        // The question's first label, records per message, whether the connection stays open, what a plugin without
        // PARTS saw, and the end of the log line.
        type Case = (&'static str, &'static [usize], bool, &'static [&'static str], &'static str);
        let cases: [Case; 6] = [
            ("zone", &[2, 2, 1], true, &["records, 230 octets", "sent 46"], ""),
            ("waits", &[2, 2, 1], true, &["records, 238 octets", "sent 47"], ""),
            (
                "breaks",
                &[2],
                false,
                &["SERVFAIL: the journal is gone"],
                "failed after 1 messages, 64 octets: the journal is gone",
            ),
            (
                "sleeps",
                &[2],
                false,
                &["SERVFAIL: no message of the source in 300ms"],
                "failed after 1 messages, 64 octets: no message of the source in 300ms",
            ),
            (
                "panics",
                &[2],
                false,
                &["SERVFAIL: the plugin that streams panicked"],
                "failed after 1 messages, 64 octets: the plugin that streams panicked",
            ),
            (
                "oversize",
                &[2],
                false,
                &["SERVFAIL: a message does not fit into 65535 octets"],
                "failed after 1 messages, 66 octets: a message does not fit into 65535 octets",
            ),
        ];
        for (label, counts, stays, seen, logged) in cases {
            shapes::reset();
            let mut stream = transfer(addr, &format!("{label}.example. AXFR"));
            let client = stream.local_addr().expect("an address");
            let frames = counts.iter().map_while(|_| read_frame(&mut stream));
            let got: Vec<usize> = frames.map(|frame| addresses(&Answer::decode(&frame)).len()).collect();
            assert_eq!(got, counts, "{label}");
            if stays {
                send_frame(&mut stream, &packet("web.search.example. A", 8));
                assert!(read_frame(&mut stream).is_some(), "{label}");
                assert_eq!(shapes::seen()[..2], *seen, "{label}");
            } else {
                assert_eq!(stream.read(&mut [0; 1]).ok(), Some(0), "{label}: closed without another message");
                assert_eq!(shapes::seen(), seen, "{label}");
            }
            let expected: Vec<String> = (!logged.is_empty())
                .then(|| {
                    format!("[ERROR] dns://127.0.0.1:0: stream of {label}.example. AXFR to {client} {logged}")
                })
                .into_iter()
                .collect();
            assert_eq!(lines.take("stream of"), expected);
        }
    });
}

#[test]
fn a_replaced_question_is_restored_in_every_message() {
    served(|addr, _| {
        let mut stream = transfer(addr, "shop.example. AXFR");
        for records in [2, 2, 1] {
            let answer = Answer::decode(&read_frame(&mut stream).expect("a message"));
            assert_eq!(answer.question, "shop.example. AXFR");
            let got = addresses(&answer);
            assert_eq!(got.len(), records);
            assert!(got.iter().all(|record| record.starts_with("shop.example. ")), "{got:?}");
        }
    });
}

#[test]
fn a_failure_before_the_first_message_is_a_reply() {
    served(|addr, lines| {
        for transport in [Transport::Tcp, Transport::Udp] {
            let qtype = if transport == Transport::Tcp { "AXFR" } else { "IXFR" };
            shapes::reset();
            assert_eq!(
                ask(addr, transport, &format!("fails-at-once.example. {qtype}")).rcode,
                Rcode::SERVFAIL
            );
            assert_eq!(shapes::seen()[0], "SERVFAIL: no zone yet");
            let logged = lines.take("stream of");
            assert_eq!(logged.len(), 1);
            assert!(logged[0].ends_with("failed after 0 messages, 0 octets: no zone yet"), "{logged:?}");
        }
    });
}

#[test]
fn a_client_that_stops_reading_ends_its_stream() {
    served(|addr, lines| {
        for disconnects in [false, true] {
            shapes::reset();
            let mut stream = transfer(addr, "endless.example. AXFR");
            assert!(read_frame(&mut stream).is_some());
            let open = (!disconnects).then_some(stream);
            // A message is produced only when the one before is written: nothing more than the kernel's buffers.
            let mut logged = Vec::new();
            let mut failed = || {
                logged.extend(lines.take("stream of"));
                !logged.is_empty()
            };
            let mut wait = || {
                (0..1000).any(|_| {
                    failed() || {
                        std::thread::sleep(Duration::from_millis(10));
                        false
                    }
                })
            };
            assert!(wait(), "the stream ends");
            let produced = shapes::PRODUCED.load(Ordering::SeqCst);
            assert!(produced * 64_000 <= KERNEL_BUFFERS, "{produced} messages were produced");
            assert_eq!(logged.len(), 1, "{logged:?}");
            let why = if disconnects { "writing to the client failed: " } else { "the client did not read " };
            assert!(logged[0].contains(why), "{logged:?}");
            wait_until(|| {
                shapes::seen().iter().any(|line| line.starts_with("SERVFAIL: ") && line.contains(why))
            });
            assert_eq!(shapes::PRODUCED.load(Ordering::SeqCst), produced, "nothing is produced any more");
            drop(open);
        }
    });
}

#[test]
fn rfc1995_2_over_udp_one_message_or_the_soa() {
    served(|addr, lines| {
        // One message that is also the last; the first of several is cut to its first record, the SOA.
        for (label, records) in [("short", 2), ("zone", 1), ("waits", 1)] {
            let answer = ask(addr, Transport::Udp, &format!("{label}.example. IXFR"));
            assert_eq!((answer.rcode, addresses(&answer).len()), (Rcode::NOERROR, records), "{label}");
            assert!(!answer.truncated, "{label}");
        }
        assert_eq!(ask(addr, Transport::Udp, "panics-not.example. AXFR").rcode, Rcode::REFUSED);
        assert_eq!(lines.take("stream of"), [""; 0]);
    });
}
