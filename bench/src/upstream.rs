//! The upstream of forwarders: it has an answer for every name, at little cost.
//!
//! It is a thread rather than a process, so that its queries can be counted, and it runs on dnsperf's CPU, so that the
//! server under measurement has its own. Its answers depend on the question alone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use net::{Epoll, Events, RecvBatch, SendBatch, UdpOptions, UdpSocket, cpu};
use testkit::error::{Context, Result};
use testkit::ports;

/// The limit of `cache 30`, so that all servers keep answers for the same time.
const TTL: u32 = 30;

const BATCH: usize = 32;

/// Runs until the program ends.
pub struct Upstream {
    addr: SocketAddr,
    received: Arc<AtomicU64>,
}

impl Upstream {
    /// On this CPU, or on any.
    pub fn start(cpu: Option<usize>) -> Result<Self> {
        let socket = UdpSocket::bind(ports::free_addr()?, &UdpOptions::default())?;
        let upstream = Self { addr: socket.local_addr(), received: Arc::default() };
        let received = Arc::clone(&upstream.received);
        let (started, start) = mpsc::channel();
        thread::Builder::new().name("upstream".to_owned()).spawn(move || {
            // Fails only if the caller no longer waits.
            let _ = started.send(cpu.map_or(Ok(()), cpu::pin_to));
            if let Err(error) = serve(&socket, &received) {
                eprintln!("bench: upstream ended: {error}");
            }
        })?;
        start
            .recv()
            .context("the upstream did not start")?
            .context(format!("cannot move the upstream to CPU {cpu:?}"))?;
        Ok(upstream)
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Queries received so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

fn serve(socket: &UdpSocket, received: &AtomicU64) -> Result<()> {
    let epoll = Epoll::new()?;
    epoll.add(socket, 0)?;
    let mut events = Events::with_capacity(1);
    let mut recv = RecvBatch::new(BATCH, 4096);
    let mut send = SendBatch::new(BATCH);
    loop {
        epoll.wait(&mut events, None)?;
        // A full batch means that more is waiting: no need to poll.
        loop {
            let count = recv.recv(socket)?;
            received.fetch_add(count as u64, Ordering::Relaxed);
            for i in 0..count {
                let packet = recv.packet(i);
                if answer(packet.bytes, send.buffer()).is_some() {
                    send.commit(&packet.reply_to());
                }
            }
            send.send(socket);
            if count < BATCH {
                break;
            }
        }
    }
}

const HEADER: usize = 12;
const A: u16 = 1;
const AAAA: u16 = 28;

/// One record for A and AAAA, none for other types, always NOERROR; no reply to invalid packets.
fn answer(query: &[u8], reply: &mut Vec<u8>) -> Option<()> {
    let header = query.get(..HEADER)?;
    // One question, and at most an OPT record, which is answered by an OPT record.
    let (response, edns) = (header[2] & 0x80 != 0, header[11] != 0);
    if response || header[4..6] != [0, 1] {
        return None;
    }
    let name = name(query.get(HEADER..)?)?;
    let question = query.get(HEADER..HEADER + name.len() + 4)?;
    let kind = u16::from_be_bytes([question[name.len()], question[name.len() + 1]]);
    let size: u16 = match kind {
        A => 4,
        AAAA => 16,
        _ => 0,
    };

    reply.extend_from_slice(&header[..2]);
    // QR and RA, and RD as it was.
    reply.extend_from_slice(&[0x80 | header[2] & 0x01, 0x80]);
    reply.extend_from_slice(&[0, 1, 0, u8::from(size > 0), 0, 0, 0, u8::from(edns)]);
    reply.extend_from_slice(question);
    if size > 0 {
        reply.extend_from_slice(&[0xc0, HEADER as u8]);
        reply.extend_from_slice(&kind.to_be_bytes());
        reply.extend_from_slice(&[0, 1]);
        reply.extend_from_slice(&TTL.to_be_bytes());
        reply.extend_from_slice(&size.to_be_bytes());
        address(name, usize::from(size), reply);
    }
    if edns {
        reply.extend_from_slice(&[0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0]);
    }
    Some(())
}

/// The uncompressed name at the start of `bytes`, including its root label.
fn name(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    loop {
        match *bytes.get(at)? {
            0 => return bytes.get(..=at),
            length @ 1..=63 => at += 1 + usize::from(length),
            _ => return None,
        }
    }
}

/// Different names have different addresses, within 10.0.0.0/8 and 2001:db8::/32, so that the comparison detects an
/// answer to the wrong question.
fn address(name: &[u8], size: usize, reply: &mut Vec<u8>) {
    // FNV-1a.
    let hash = name.iter().fold(0x811c_9dc5_u32, |hash, &octet| {
        (hash ^ u32::from(octet.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    });
    let hash = hash.to_be_bytes();
    match size {
        4 => reply.extend_from_slice(&[10, hash[1], hash[2], hash[3]]),
        _ => {
            reply.extend_from_slice(&[0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0]);
            reply.extend_from_slice(&hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::message::Message;

    use crate::question::packet;

    fn reply(query: &[u8]) -> Option<Message> {
        let mut reply = Vec::new();
        answer(query, &mut reply).map(|()| Message::decode(&reply))
    }

    #[test]
    fn every_name_has_its_own_addresses() {
        let rdata = |line: &str| {
            let message = reply(&packet(line).unwrap()).unwrap();
            assert_eq!((message.bits, &message.broken), (0x8180, &None));
            assert!(message.trailing.is_empty() && message.opts.is_empty());
            message
                .answer
                .into_iter()
                .map(|record| (record.rtype, record.ttl, record.rdata))
                .collect::<Vec<_>>()
        };
        let shape = |line: &str| {
            let records = rdata(line);
            records.into_iter().map(|(rtype, ttl, rdata)| (rtype, ttl, rdata.len())).collect::<Vec<_>>()
        };
        assert_eq!(shape("a.example A"), [(A, TTL, 4)]);
        assert_eq!(shape("a.example AAAA"), [(AAAA, TTL, 16)]);
        assert_eq!(shape("a.example TXT"), []);
        assert_ne!(rdata("b.example A"), rdata("a.example A"));
        assert_eq!(rdata("A.Example A"), rdata("a.example A"));
    }

    #[test]
    fn edns_is_answered_with_edns() {
        let mut query = packet("a.example A").unwrap();
        query[11] = 1;
        query.extend_from_slice(&[0, 0, 41, 0x10, 0, 0, 0, 0x80, 0, 0, 0]);
        let message = reply(&query).unwrap();
        assert_eq!((message.broken, message.opts.len(), message.answer.len()), (None, 1, 1));
    }

    #[test]
    fn invalid_packets_get_no_reply() {
        let query = packet("a.example A").unwrap();
        for length in 0..query.len() {
            assert_eq!(reply(&query[..length]), None, "{length} octets");
        }
        let mut response = query.clone();
        response[2] |= 0x80;
        assert_eq!(reply(&response), None);
        let mut compressed = query;
        compressed[HEADER] = 0xc0;
        assert_eq!(reply(&compressed), None);
    }

    #[test]
    fn queries_are_counted() {
        let upstream = Upstream::start(None).unwrap();
        let query = packet("a.example A").unwrap();
        let timeout = std::time::Duration::from_secs(5);
        for _ in 0..3 {
            let outcome = testkit::client::udp(upstream.addr(), &query, timeout, 0).unwrap();
            assert!(outcome.reply().is_some());
        }
        assert_eq!(upstream.received(), 3);
    }
}
