//! Epoll and waker, TCP listeners, interfaces, limits.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use net::{Epoll, Events, Waker, cpu, interfaces, ipv6_unavailable, listen_tcp, raise_file_limit};

const TIMEOUT: Option<Duration> = Some(Duration::from_secs(10));
const NO_WAIT: Option<Duration> = Some(Duration::ZERO);

fn ready(epoll: &Epoll, events: &mut Events, timeout: Option<Duration>) -> Vec<u64> {
    let count = epoll.wait(events, timeout).unwrap();
    let mut tokens: Vec<u64> = events.tokens().collect();
    assert_eq!(tokens.len(), count);
    tokens.sort();
    tokens
}

#[test]
fn waker_is_ready_until_drained() {
    let (epoll, one, two) = (Epoll::new().unwrap(), Waker::new().unwrap(), Waker::new().unwrap());
    let mut events = Events::with_capacity(8);
    epoll.add(&one, 1).unwrap();
    epoll.add(&two, u64::MAX).unwrap();
    assert_eq!(ready(&epoll, &mut events, NO_WAIT), []);
    one.wake();
    one.wake();
    assert_eq!(ready(&epoll, &mut events, NO_WAIT), [1]);
    two.wake();
    // Level-triggered: a waker stays ready until drained.
    assert_eq!(ready(&epoll, &mut events, NO_WAIT), [1, u64::MAX]);
    one.drain();
    assert_eq!(ready(&epoll, &mut events, NO_WAIT), [u64::MAX]);
    epoll.remove(&two).unwrap();
    assert_eq!(ready(&epoll, &mut events, NO_WAIT), []);
    assert_eq!(epoll.remove(&two).unwrap_err().kind(), ErrorKind::NotFound);
    // Draining without a wake-up does not block.
    one.drain();
}

#[test]
fn small_capacity_returns_all_in_turn() {
    let epoll = Epoll::new().unwrap();
    let wakers = [Waker::new().unwrap(), Waker::new().unwrap()];
    for (token, waker) in wakers.iter().enumerate() {
        epoll.add(waker, token as u64).unwrap();
        waker.wake();
    }
    let mut events = Events::with_capacity(1);
    let mut seen = Vec::new();
    while let [token] = ready(&epoll, &mut events, NO_WAIT)[..] {
        wakers[token as usize].drain();
        seen.push(token);
    }
    seen.sort();
    assert_eq!(seen, [0, 1]);
}

#[test]
fn waker_wakes_another_thread() {
    let waker = Arc::new(Waker::new().unwrap());
    let epoll = Epoll::new().unwrap();
    epoll.add(&*waker, 7).unwrap();
    let waiting = thread::spawn(move || ready(&epoll, &mut Events::with_capacity(1), TIMEOUT));
    waker.wake();
    assert_eq!(waiting.join().unwrap(), [7]);
}

#[test]
fn listeners_share_an_address_and_do_not_block() {
    let one = listen_tcp("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = one.local_addr().unwrap();
    let two = listen_tcp(addr).unwrap();
    assert_eq!(one.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    let epoll = Epoll::new().unwrap();
    epoll.add(&one, 1).unwrap();
    epoll.add(&two, 2).unwrap();
    let client = TcpStream::connect(addr).unwrap();
    let tokens = ready(&epoll, &mut Events::with_capacity(2), TIMEOUT);
    let (_, remote) = if tokens == [1] { one.accept() } else { two.accept() }.unwrap();
    assert_eq!(remote, client.local_addr().unwrap());
}

#[test]
fn tcp_wildcard_takes_both_families() {
    let listener = match listen_tcp("[::]:0".parse().unwrap()) {
        Err(error) if ipv6_unavailable(&error) => return eprintln!("skipped: no IPv6 here ({error})"),
        result => result.unwrap(),
    };
    let port = listener.local_addr().unwrap().port();
    for ip in ["127.0.0.1", "::1"] {
        TcpStream::connect(SocketAddr::new(ip.parse().unwrap(), port)).unwrap();
    }
}

#[test]
fn loopback_is_an_interface() {
    let interfaces = interfaces().unwrap();
    let lo = interfaces.iter().find(|interface| interface.name == "lo").expect("no interface lo");
    assert!(lo.index > 0);
    assert!(lo.addrs.contains(&"127.0.0.1:0".parse().unwrap()), "{lo:?}");
    let mut names: Vec<&str> = interfaces.iter().map(|interface| interface.name.as_str()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), interfaces.len(), "each name once");
    for interface in &interfaces {
        for addr in &interface.addrs {
            assert_eq!(addr.port(), 0);
            if let SocketAddr::V6(v6) = addr {
                let scope = if v6.ip().is_unicast_link_local() { interface.index } else { 0 };
                assert_eq!(v6.scope_id(), scope, "{interface:?}");
            }
        }
    }
}

#[test]
fn file_limit_is_raised_once() {
    let limit = raise_file_limit().unwrap();
    assert!(limit > 0);
    assert_eq!(raise_file_limit().unwrap(), limit);
}

#[test]
fn there_is_a_cpu() {
    assert!(cpu::available() >= 1);
}
