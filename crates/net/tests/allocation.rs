//! A warm worker receives and replies without allocating.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::UdpSocket as StdSocket;
use std::rc::Rc;
use std::time::Duration;

use net::{Epoll, Events, Reactor, RecvBatch, SendBatch, UdpOptions, UdpSocket};

struct Counting;

thread_local! {
    // Per thread, since the test harness has threads of its own.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending may have no counter any more; it is not the test's.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: everything is passed on to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn steady_state_allocates_nothing() {
    let options = UdpOptions { pktinfo: true, ..Default::default() };
    let server = Rc::new(UdpSocket::bind("0.0.0.0:0".parse().unwrap(), &options).unwrap());
    let reactor = Reactor::open(Epoll::new().unwrap());
    reactor.add(server.clone(), 5).unwrap();
    let mut events = Events::with_capacity(4);
    let mut batch = RecvBatch::new(32, 4096);
    let mut replies = SendBatch::new(32);
    let client = StdSocket::bind("127.0.0.1:0").unwrap();
    client.connect(("127.0.0.2", server.local_addr().port())).unwrap();
    // A lost datagram must fail the test, not hang it.
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut answer = [0; 4096];

    let before = ALLOCATIONS.get();
    for round in 0..100 {
        for _ in 0..=round % 40 {
            client.send(&[1; 1200]).unwrap();
        }
        let mut left = round % 40 + 1;
        while left > 0 {
            reactor.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
            assert_eq!(events.tokens().next(), Some(5));
            for i in 0..batch.recv(&server).unwrap() {
                let packet = batch.packet(i);
                if i % 2 == 0 {
                    replies.buffer().extend_from_slice(packet.bytes);
                    replies.buffer().resize(packet.bytes.len(), 2);
                    replies.commit(&packet.reply_to());
                } else {
                    server.send_to(packet.bytes, &packet.reply_to()).unwrap();
                }
                left -= 1;
            }
            assert_eq!(replies.send(&server).failed, 0);
        }
        for _ in 0..=round % 40 {
            client.recv(&mut answer).unwrap();
        }
        // Receiving nothing allocates no error.
        assert_eq!(batch.recv(&server).unwrap(), 0);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);

    // The counter works.
    drop(std::hint::black_box(vec![1]));
    assert!(ALLOCATIONS.get() > before);
}
