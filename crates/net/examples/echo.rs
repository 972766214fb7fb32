//! Baseline for benchmarks: receives batches and sends them back with the QR bit set.
//!
//! `echo ADDR [--pin CPU]` prints `ready ADDR` and runs until a signal.

use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;

use net::{Epoll, Events, Reactor, RecvBatch, SendBatch, UdpOptions, UdpSocket, cpu};

const BATCH: usize = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let (addr, pin) = arguments().ok_or("usage: echo ADDR [--pin CPU]")?;
    if let Some(pin) = pin {
        cpu::pin_to(pin)?;
    }
    let options = UdpOptions { pktinfo: addr.ip().is_unspecified(), ..UdpOptions::default() };
    let socket = Rc::new(UdpSocket::bind(addr, &options)?);
    let reactor = Reactor::open(Epoll::new()?);
    reactor.add(socket.clone(), 0)?;
    let mut events = Events::with_capacity(1);
    let mut recv = RecvBatch::new(BATCH, 4096);
    let mut send = SendBatch::new(BATCH);
    println!("ready {}", socket.local_addr());
    loop {
        reactor.wait(&mut events, None)?;
        // After a full batch more is probably queued: receive again without waiting.
        loop {
            let count = recv.recv(&socket)?;
            for i in 0..count {
                let packet = recv.packet(i);
                let reply = send.buffer();
                reply.extend_from_slice(packet.bytes);
                if let Some(flags) = reply.get_mut(2) {
                    *flags |= 0x80;
                }
                send.commit(&packet.reply_to());
            }
            send.send(&socket);
            if count < BATCH {
                break;
            }
        }
    }
}

fn arguments() -> Option<(SocketAddr, Option<usize>)> {
    let mut arguments = std::env::args().skip(1);
    let addr = arguments.next()?.parse().ok()?;
    let pin = match arguments.next().as_deref() {
        None => None,
        Some("--pin") => Some(arguments.next()?.parse().ok()?),
        Some(_) => return None,
    };
    Some((addr, pin))
}
