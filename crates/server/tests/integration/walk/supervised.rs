//! Panics injected into every supervised task of a server under load: each is logged with its source location and counted,
//! the task goes on, and only the answer that panicked is lost.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use server::Server;
use wire::Rcode;

use super::client::{Transport, try_ask};
use super::{ONE_AT_A_TIME, build, shapes};

/// Timeout for a panic and the recovery, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Log lines about panics.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A client that queries in a loop.
struct LoopingClient {
    answered: Arc<AtomicUsize>,
    lost: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LoopingClient {
    fn new(ask: impl Fn() -> bool + Send + 'static) -> LoopingClient {
        let (answered, lost, stop) = (Arc::default(), Arc::default(), Arc::new(AtomicBool::new(false)));
        let client = (Arc::clone(&answered), Arc::clone(&lost), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let (answered, lost, stop) = client;
            while !stop.load(Ordering::Relaxed) {
                let counter: &AtomicUsize = if ask() { &answered } else { &lost };
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        LoopingClient { answered, lost, stop, thread: Some(thread) }
    }

    fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }
}

impl Drop for LoopingClient {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn over(addr: SocketAddr, transport: Transport, question: &'static str) -> LoopingClient {
    LoopingClient::new(move || {
        let answer = try_ask(addr, transport, question, Duration::from_secs(5));
        answer.is_some_and(|answer| answer.rcode == Rcode::NOERROR)
    })
}

fn over_http(addr: SocketAddr) -> LoopingClient {
    LoopingClient::new(move || {
        let Ok(mut stream) = TcpStream::connect(addr) else { return false };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let mut page = String::new();
        let asked = stream.write_all(b"GET /page HTTP/1.0\r\nHost: test\r\n\r\n");
        asked.is_ok() && stream.read_to_string(&mut page).is_ok() && page.ends_with("a page")
    })
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !condition() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_panic_costs_one_step() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    supervise::set_log(|line| LINES.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned()));
    supervise::install_hook();
    let http = testkit::ports::free_addr().expect("a free port");
    let text = format!(".:0 {{\nbind_loopback\npage {http}\nticks\ndata now\n}}\n");
    let server = Server::start(build(&text)).expect("it starts");
    let addr = server.addresses()[0];
    let clients = [
        over(addr, Transport::Udp, "web.search.example. A"),
        over(addr, Transport::Udp, "quick.example. A"),
        over(addr, Transport::Tcp, "web.search.example. A"),
        over_http(http),
    ];
    let lost = || clients.iter().map(|client| client.lost.load(Ordering::Relaxed)).sum::<usize>();
    let all_answer = |what: &str| {
        let before: Vec<usize> = clients.iter().map(LoopingClient::answered).collect();
        let ticks = shapes::ticks();
        wait_until(what, || {
            let many = clients.iter().zip(&before).all(|(client, before)| client.answered() >= before + 5);
            many && shapes::ticks() > ticks
        });
    };
    all_answer("the load is on");
    // The fail point if it is not named like the task, the task, and how many answers the panic may cost.
    let cases = [
        ("udp-loop", "udp-worker", 0),
        ("", "udp-worker", 0),
        ("", "query", 1),
        ("", "tcp-listener", 0),
        ("", "tcp-connection", 1),
        ("", "http-listener", 0),
        ("", "http-connection", 1),
        ("", "http-request", 1),
        ("", "periodic", 0),
        ("", "log", 0),
    ];
    for (place, task, costs) in cases {
        let place = if place.is_empty() { task } else { place };
        let (panics, lost_before) = (supervise::panics(task), lost());
        supervise::inject::arm(place, 1);
        wait_until(task, || !supervise::inject::is_armed(place) && supervise::panics(task) > panics);
        all_answer(task);
        assert!(lost() - lost_before <= costs, "{task}: {} lost", lost() - lost_before);
        assert_eq!(supervise::panics(task), panics + 1, "{task}");
        let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        let start = format!("task {task}: panic at crates/supervise/src/inject.rs:");
        let logged = lines.iter().any(|line| line.starts_with(&start) && line.contains(place));
        // For queries CoreDNS's line is logged instead.
        assert!(logged || task == "query", "{task}: {lines:?}");
    }
    drop(clients);
    assert!(server.stop(), "nothing is left in flight");
}
