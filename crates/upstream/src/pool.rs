//! A pool of idle sockets, least recently used first, limited by age, uses and number.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of idle sockets, whatever is configured: file descriptors are limited.
const MAX_IDLE: usize = 1000;

#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) expire: Duration,
    pub(crate) max_age: Option<Duration>,
    pub(crate) max_uses: u32,
    /// 0 is the built-in maximum.
    pub(crate) max_idle: usize,
}

pub(crate) struct Pool<C> {
    limits: Limits,
    state: Mutex<State<C>>,
}

struct State<C> {
    /// In the order of their last use.
    idle: VecDeque<Lease<C>>,
    sweeping: bool,
    closed: bool,
}

/// A socket in use. Dropping it closes the socket; [`Pool::put`] returns it to the pool.
pub(crate) struct Lease<C> {
    pub(crate) socket: C,
    created: Instant,
    used: Instant,
    uses: u32,
}

impl<C> Lease<C> {
    pub(crate) fn new(socket: C) -> Lease<C> {
        let now = Instant::now();
        Lease { socket, created: now, used: now, uses: 0 }
    }
}

impl<C: Send + 'static> Pool<C> {
    pub(crate) fn new(limits: Limits) -> Arc<Pool<C>> {
        let state = State { idle: VecDeque::new(), sweeping: false, closed: false };
        Arc::new(Pool { limits, state: Mutex::new(state) })
    }

    /// The socket that was idle longest, so that source ports rotate.
    pub(crate) fn take(&self) -> Option<Lease<C>> {
        let now = Instant::now();
        let mut state = self.state();
        while let Some(lease) = state.idle.pop_front() {
            if self.is_good(&lease, now) {
                return Some(lease);
            }
        }
        None
    }

    pub(crate) fn put(self: &Arc<Self>, mut lease: Lease<C>) {
        let now = Instant::now();
        lease.used = now;
        lease.uses += 1;
        let most = if self.limits.max_idle == 0 { MAX_IDLE } else { self.limits.max_idle.min(MAX_IDLE) };
        let mut state = self.state();
        if state.closed || lease.uses >= self.limits.max_uses || state.idle.len() >= most {
            return;
        }
        state.idle.push_back(lease);
        if !state.sweeping {
            state.sweeping = true;
            self.sweep();
        }
    }

    /// Closes idle sockets and keeps none from now on; sockets in use are closed after their query.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.idle.clear();
    }

    /// Closes expired sockets in the background while there are idle ones. The task does not keep the pool alive.
    fn sweep(self: &Arc<Self>) {
        let pool = Arc::downgrade(self);
        let interval = self.limits.expire.clamp(Duration::from_millis(10), Duration::from_secs(10));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                let Some(pool) = pool.upgrade() else { return };
                let now = Instant::now();
                let mut state = pool.state();
                state.idle.retain(|lease| pool.is_good(lease, now));
                if state.idle.is_empty() {
                    state.sweeping = false;
                    return;
                }
            }
        });
    }

    fn is_good(&self, lease: &Lease<C>, now: Instant) -> bool {
        now.duration_since(lease.used) <= self.limits.expire
            && self.limits.max_age.is_none_or(|most| now.duration_since(lease.created) <= most)
    }

    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { expire: Duration::from_secs(60), max_age: None, max_uses: 3, max_idle: 0 }
    }

    fn taken<C: Send + 'static>(pool: &Pool<C>) -> Option<C> {
        pool.take().map(|lease| lease.socket)
    }

    #[tokio::test]
    async fn first_in_first_out_within_limits() {
        let pool = Pool::new(Limits { max_idle: 2, ..limits() });
        (1..=3).for_each(|n| pool.put(Lease::new(n)));
        assert_eq!((taken(&pool), taken(&pool), taken(&pool)), (Some(1), Some(2), None));

        let pool = Pool::new(limits());
        (0..2 * MAX_IDLE).for_each(|n| pool.put(Lease::new(n)));
        assert_eq!(std::iter::from_fn(|| pool.take()).count(), MAX_IDLE);
    }

    #[tokio::test]
    async fn a_socket_has_a_maximum_of_uses() {
        let pool = Pool::new(limits());
        pool.put(Lease::new(()));
        for _ in 0..2 {
            let lease = pool.take().expect("used less than three times");
            pool.put(lease);
        }
        assert!(pool.take().is_none());
    }

    #[tokio::test]
    async fn a_closed_pool_keeps_nothing() {
        let pool = Pool::new(limits());
        pool.put(Lease::new(()));
        pool.close();
        assert!(pool.take().is_none());
        pool.put(Lease::new(()));
        assert!(pool.take().is_none());
    }

    #[tokio::test]
    async fn idle_and_old_sockets_are_closed_in_the_background() {
        let short = Duration::from_millis(30);
        for limits in
            [Limits { expire: short, ..limits() }, Limits { expire: short, max_age: Some(short), ..limits() }]
        {
            let pool = Pool::new(limits);
            let socket = Arc::new(());
            for _ in 0..2 {
                pool.put(Lease::new(Arc::clone(&socket)));
                tokio::time::sleep(5 * short).await;
                assert_eq!(Arc::strong_count(&socket), 1);
            }
        }
    }
}
