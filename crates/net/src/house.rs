//! A thread that waits for packets, and who else lives on it.
//!
//! ```text
//!           ┌─ token below 2^32, or WAKE ─→ the worker's own
//! wait ─────┤
//!           └─ (number of the resident, its key) ─→ Resident::ready
//! before the next wait ─→ Resident::settle: sends what has gathered, gives up what took too long
//! ```
//!
//! Whatever is done for a query by residents of its own thread costs no other thread and no wake-up.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::{Epoll, Events};

/// Somebody with sockets of their own on a worker's thread.
pub trait Resident {
    /// Something came in on the descriptor with this key; all of it is to be read now.
    fn ready(&self, key: u32);

    /// The thread is about to wait. Says until when at the latest.
    fn settle(&self) -> Option<Instant>;
}

thread_local! {
    static HERE: RefCell<Option<Here>> = const { RefCell::new(None) };
    /// Somebody was told to wait for a resident of this thread.
    static WAITS_HERE: Cell<bool> = const { Cell::new(false) };
}

struct Here {
    epoll: Rc<Epoll>,
    residents: Vec<Rc<dyn Resident>>,
}

/// The thread's own epoll. Residents may move in for as long as it is there.
pub struct House {
    epoll: Rc<Epoll>,
}

impl House {
    /// Makes a house of this thread.
    pub fn open(epoll: Epoll) -> House {
        let epoll = Rc::new(epoll);
        HERE.set(Some(Here { epoll: Rc::clone(&epoll), residents: Vec::new() }));
        House { epoll }
    }

    /// Watches a descriptor of the worker's own, by a token below 2^32.
    pub fn add(&self, fd: impl AsFd, token: u32) -> io::Result<()> {
        self.epoll.add(fd, u64::from(token))
    }

    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        self.epoll.remove(fd)
    }

    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        self.epoll.wait(events, timeout)
    }

    /// Gives a resident what is theirs; the token back if it is the worker's own.
    pub fn pass_on(&self, token: u64) -> Option<u64> {
        let Some(number) = (token >> 32).checked_sub(1) else { return Some(token) };
        let resident =
            HERE.with_borrow(|here| here.as_ref()?.residents.get(usize::try_from(number).ok()?).cloned());
        let Some(resident) = resident else { return Some(token) };
        resident.ready(token as u32);
        None
    }

    /// Asks all residents to settle, and until when the thread may wait.
    pub fn settle(&self) -> Option<Instant> {
        let count = HERE.with_borrow(|here| here.as_ref().map_or(0, |here| here.residents.len()));
        let resident = |i| HERE.with_borrow(|here| here.as_ref()?.residents.get(i).cloned());
        (0..count).filter_map(|i| resident(i)?.settle()).min()
    }

    /// Runs this and says whether it left anything waiting for a resident.
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> (T, bool) {
        WAITS_HERE.set(false);
        let result = work();
        (result, WAITS_HERE.get())
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // Residents may look around while they go.
        let residents = HERE.take();
        drop(residents);
    }
}

/// A resident's right to be told of its descriptors.
pub struct Lodging {
    epoll: Rc<Epoll>,
    number: u64,
}

impl Lodging {
    /// Moves in on this thread; None if it is no house.
    pub fn take<R: Resident + 'static>(make: impl FnOnce(Lodging) -> Rc<R>) -> Option<Rc<R>> {
        let lodging = HERE.with_borrow(|here| {
            let here = here.as_ref()?;
            Some(Lodging { epoll: Rc::clone(&here.epoll), number: here.residents.len() as u64 + 1 })
        })?;
        let resident = make(lodging);
        HERE.with_borrow_mut(|here| here.as_mut().map(|here| here.residents.push(resident.clone())));
        Some(resident)
    }

    /// Has the resident told, under this key, when something comes. It leaves when it is closed.
    pub fn add(&self, fd: impl AsFd, key: u32) -> io::Result<()> {
        self.epoll.add_edge(fd, self.number << 32 | u64::from(key))
    }
}

/// Says that what was begun just now waits for a resident of this thread, and so must stay on it.
pub fn wait_here() {
    WAITS_HERE.set(true);
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[derive(Default)]
    struct Guest {
        told: RefCell<Vec<u32>>,
        until: Cell<Option<Instant>>,
        lodging: RefCell<Option<Lodging>>,
    }

    impl Resident for Guest {
        fn ready(&self, key: u32) {
            self.told.borrow_mut().push(key);
        }

        fn settle(&self) -> Option<Instant> {
            self.until.get()
        }
    }

    fn move_in() -> Option<Rc<Guest>> {
        Lodging::take(|lodging| Rc::new(Guest { lodging: RefCell::new(Some(lodging)), ..Guest::default() }))
    }

    #[test]
    fn a_resident_is_told_once_for_each_arrival() {
        assert!(move_in().is_none(), "no house, no lodging");
        let house = House::open(Epoll::new().unwrap());
        let (first, second) = (move_in().unwrap(), move_in().unwrap());
        let (socket, own) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        second.lodging.borrow().as_ref().unwrap().add(&socket, 7).unwrap();
        house.add(&own, 3).unwrap();
        let mut events = Events::with_capacity(8);
        let mut own_tokens = Vec::new();
        for _ in 0..2 {
            socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
            own.send_to(b"x", own.local_addr().unwrap()).unwrap();
            house.wait(&mut events, None).unwrap();
            own_tokens.extend(events.tokens().filter_map(|token| house.pass_on(token)));
        }
        house.wait(&mut events, Some(Duration::ZERO)).unwrap();
        own_tokens.extend(events.tokens().filter_map(|token| house.pass_on(token)));
        assert_eq!((own_tokens, second.told.take(), first.told.take()), (vec![3, 3, 3], vec![7, 7], vec![]));
        drop(house);
        assert!(move_in().is_none());
    }

    #[test]
    fn waits_until_the_first_resident_has_something_to_do() {
        let house = House::open(Epoll::new().unwrap());
        assert_eq!(house.settle(), None);
        let (early, late) = (Instant::now(), Instant::now() + Duration::from_secs(1));
        for (until, all) in [(None, None), (Some(late), Some(late)), (Some(early), Some(early))] {
            move_in().unwrap().until.set(until);
            assert_eq!(house.settle(), all);
        }
    }

    #[test]
    fn knows_what_must_stay() {
        let house = House::open(Epoll::new().unwrap());
        assert_eq!(house.watch(|| 1), (1, false));
        assert_eq!(house.watch(wait_here), ((), true));
        assert_eq!(house.watch(|| 2), (2, false));
    }
}
