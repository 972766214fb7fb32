//! Idle sockets, oldest first, until they are too old, too used or too many.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Never more idle sockets than this, whatever is configured: file descriptors are not endless.
const MOST_IDLE: usize = 1000;

#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) expire: Duration,
    pub(crate) max_age: Option<Duration>,
    pub(crate) max_uses: u32,
    /// 0 for no other bound than our own.
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

/// A socket in use. Dropping it closes the socket; only [`Pool::give`] keeps it.
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

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The socket that waited longest, so that source ports take turns.
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

    pub(crate) fn give(self: &Arc<Self>, mut lease: Lease<C>) {
        let now = Instant::now();
        lease.used = now;
        lease.uses += 1;
        let most = if self.limits.max_idle == 0 { MOST_IDLE } else { self.limits.max_idle.min(MOST_IDLE) };
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

    /// Closes what is idle, now and from now on; sockets in use end with their query.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.idle.clear();
    }

    /// Closes expired sockets in the background for as long as there are idle ones. It does not keep the pool.
    fn sweep(self: &Arc<Self>) {
        let pool = Arc::downgrade(self);
        let pause = self.limits.expire.clamp(Duration::from_millis(10), Duration::from_secs(10));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
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
        (1..=3).for_each(|n| pool.give(Lease::new(n)));
        assert_eq!((taken(&pool), taken(&pool), taken(&pool)), (Some(1), Some(2), None));

        let pool = Pool::new(limits());
        (0..2 * MOST_IDLE).for_each(|n| pool.give(Lease::new(n)));
        assert_eq!(std::iter::from_fn(|| pool.take()).count(), MOST_IDLE);
    }

    #[tokio::test]
    async fn a_socket_wears_out() {
        let pool = Pool::new(limits());
        pool.give(Lease::new(()));
        for _ in 0..2 {
            let lease = pool.take().expect("used less than three times");
            pool.give(lease);
        }
        assert!(pool.take().is_none());
    }

    #[tokio::test]
    async fn a_closed_pool_keeps_nothing() {
        let pool = Pool::new(limits());
        pool.give(Lease::new(()));
        pool.close();
        assert!(pool.take().is_none());
        pool.give(Lease::new(()));
        assert!(pool.take().is_none());
    }

    #[tokio::test]
    async fn idle_and_old_sockets_are_closed_though_nobody_asks() {
        let short = Duration::from_millis(30);
        for limits in
            [Limits { expire: short, ..limits() }, Limits { expire: short, max_age: Some(short), ..limits() }]
        {
            let pool = Pool::new(limits);
            let socket = Arc::new(());
            for _ in 0..2 {
                pool.give(Lease::new(Arc::clone(&socket)));
                tokio::time::sleep(5 * short).await;
                assert_eq!(Arc::strong_count(&socket), 1);
            }
        }
    }
}
