//! Sends mutated packets to a running server: it stays up, answers correctly, and its memory does not grow.

mod flood;
mod framing;
mod mutate;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fuzz::service::{COREFILE, KNOWN_ANSWER};
use testkit::client::{self, Transport};
use testkit::error::{Context, Error, Result};
use testkit::message::Message;
use testkit::{DnsServer, Kind, random};
use wire::{NameBuf, Query, Rtype};

struct Amount {
    /// Packets over UDP, and how many of them precede the first measurement of memory.
    udp: usize,
    settled_after: usize,
    /// Messages over TCP.
    tcp: usize,
}

#[test]
fn survives_two_hundred_thousand_packets() {
    check(&Amount { udp: 200_000, settled_after: 50_000, tcp: 4_000 }).unwrap();
}

#[test]
#[ignore = "minutes; part of make test-long"]
fn survives_ten_million_packets() {
    check(&Amount { udp: 10_000_000, settled_after: 500_000, tcp: 200_000 }).unwrap();
}

fn check(amount: &Amount) -> Result<()> {
    if let Err(error) = testkit::rhumb::binary() {
        assert!(std::env::var_os("RHUMB_PEERS_REQUIRED").is_none(), "{error}");
        println!("skipped: {error}");
        return Ok(());
    }
    let seed = random::seed_from_env();
    let server = DnsServer::start_on_free_port(Kind::Rhumb, COREFILE)?;
    let begun = Instant::now();
    // A crash of the server appears as a socket error; its output has the cause.
    let with_output = |error: Error| {
        let _ = server.process().wait(Duration::from_secs(1));
        Error::new(format!("{error}; {:?}; output:\n{}", server.process().exit_status(), server.output()))
    };

    let mut flood = flood::Flood::new(server.addr(), seed)?;
    flood.send(amount.settled_after).map_err(with_output)?;
    // TCP before the first measurement too, because its buffers and tasks also take memory.
    let tcp_first = amount.tcp / 10;
    let mut broken = framing::Framing::new(server.addr(), seed)?;
    broken.send(tcp_first).map_err(with_output)?;
    let settled = server.process().rss()?;

    flood.send(amount.udp - amount.settled_after).map_err(with_output)?;
    let udp_time = begun.elapsed();
    broken.send(amount.tcp - tcp_first).map_err(with_output)?;

    let end = server.process().rss()?;
    let mebi = |bytes: u64| bytes as f64 / 1_048_576.0;
    println!("udp: {} in {:.1} s", flood.tally(), udp_time.as_secs_f64());
    println!("tcp: {} in {:.1} s", broken.tally(), (begun.elapsed() - udp_time).as_secs_f64());
    println!("memory: {:.1} MiB settled, {:.1} MiB at the end", mebi(settled), mebi(end));

    assert!(server.process().exit_status().is_none(), "the server exited:\n{}", server.output());
    let output = server.output();
    assert!(!output.contains("panic"), "a panic was recovered from:\n{output}");
    for transport in [Transport::Udp, Transport::Tcp] {
        check_known_answer(&server, transport)?;
    }
    assert!(end <= settled + settled / 10 + 8 * 1_048_576, "memory grew from {settled} to {end} octets");
    Ok(())
}

fn check_known_answer(server: &DnsServer, transport: Transport) -> Result<()> {
    let outcome = client::query(server.addr(), transport, &known_query(0x4242)?, Duration::from_secs(5))?;
    let message = Message::decode(outcome.reply().expect("an answer"));
    assert_eq!(
        (message.id, message.rcode(), message.answer.len()),
        (0x4242, 0, 1),
        "{transport:?}: {message:?}"
    );
    assert_eq!(message.answer[0].rdata, KNOWN_ANSWER.1, "{transport:?}");
    Ok(())
}

/// The query for [`KNOWN_ANSWER`].
fn known_query(id: u16) -> Result<Vec<u8>> {
    let name = NameBuf::parse(KNOWN_ANSWER.0).context(KNOWN_ANSWER.0)?;
    let mut query = Query::ask(name.as_name(), Rtype::A);
    query.id = id;
    Ok(query.to_packet())
}

/// Packets to mutate, sorted by file name so that a random seed reproduces them.
fn seeds() -> Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/packet");
    let entries = fs::read_dir(&folder).context(folder.display())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().map(|path| fs::read(path).context(path.display())).collect()
}
