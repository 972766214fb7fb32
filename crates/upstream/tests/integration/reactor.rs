//! Runs tests on a thread with a reactor, like that of a worker.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use net::{Epoll, Events, Reactor};

const WOKEN: u64 = 0;

/// Runs a test on tokio, and then on a thread with a reactor.
pub fn on_tokio_and_worker(test: impl AsyncFn()) {
    let runtime = runtime();
    runtime.block_on(test());
    let _entered = runtime.enter();
    on_worker(test());
}

/// Runs a test on a thread with a reactor only.
pub fn on_worker<F: Future>(future: F) -> F::Output {
    let runtime = runtime();
    let _entered = runtime.enter();
    let reactor_waker = Arc::new(ReactorWaker(Arc::new(net::Waker::new().unwrap())));
    let reactor = Reactor::open(Epoll::new().unwrap());
    reactor.add(reactor_waker.0.clone(), WOKEN as u32).unwrap();
    let waker = Waker::from(Arc::clone(&reactor_waker));
    let mut events = Events::with_capacity(8);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let deadline = reactor.before_wait();
        reactor
            .wait(&mut events, deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())))
            .unwrap();
        for token in events.tokens().filter_map(|token| reactor.dispatch(token)) {
            assert_eq!(token, WOKEN);
            reactor_waker.0.drain();
        }
    }
}

/// Another thread drives its timers.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

struct ReactorWaker(Arc<net::Waker>);

impl Wake for ReactorWaker {
    fn wake(self: Arc<ReactorWaker>) {
        self.0.wake();
    }
}

/// Runs all futures concurrently on one thread.
pub async fn all<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    enum Slot<F, T> {
        Pending(Pin<Box<F>>),
        Done(T),
    }
    let mut all: Vec<_> = futures.into_iter().map(|future| Slot::Pending(Box::pin(future))).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for one in &mut all {
            if let Slot::Pending(future) = one {
                match future.as_mut().poll(context) {
                    Poll::Ready(done) => *one = Slot::Done(done),
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    all.into_iter()
        .map(|one| if let Slot::Done(done) = one { done } else { unreachable!("all are done") })
        .collect()
}
