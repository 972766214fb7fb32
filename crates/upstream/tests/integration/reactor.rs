//! A thread like that of a worker.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use net::{Epoll, Events, Reactor};

const WOKEN: u64 = 0;

/// Runs a test on tokio, and then on a thread of its own that is a reactor.
pub fn everywhere(test: impl AsyncFn()) {
    let runtime = runtime();
    runtime.block_on(test());
    let _entered = runtime.enter();
    at_home(test());
}

/// Runs a test on a reactor only.
pub fn at_home<F: Future>(future: F) -> F::Output {
    let runtime = runtime();
    let _entered = runtime.enter();
    let bell = Arc::new(Bell(Arc::new(net::Waker::new().unwrap())));
    let reactor = Reactor::open(Epoll::new().unwrap());
    reactor.add(bell.0.clone(), WOKEN as u32).unwrap();
    let waker = Waker::from(Arc::clone(&bell));
    let mut events = Events::with_capacity(8);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let until = reactor.before_wait();
        reactor
            .wait(&mut events, until.map(|until| until.saturating_duration_since(Instant::now())))
            .unwrap();
        for token in events.tokens().filter_map(|token| reactor.dispatch(token)) {
            assert_eq!(token, WOKEN);
            bell.0.drain();
        }
    }
}

/// Another thread drives its timers.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

struct Bell(Arc<net::Waker>);

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.0.wake();
    }
}

/// All of these at once, on one thread.
pub async fn all<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    enum Half<F, T> {
        Under(Pin<Box<F>>),
        Done(T),
    }
    let mut all: Vec<_> = futures.into_iter().map(|future| Half::Under(Box::pin(future))).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for one in &mut all {
            if let Half::Under(future) = one {
                match future.as_mut().poll(context) {
                    Poll::Ready(done) => *one = Half::Done(done),
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    all.into_iter()
        .map(|one| if let Half::Done(done) = one { done } else { unreachable!("all are done") })
        .collect()
}
