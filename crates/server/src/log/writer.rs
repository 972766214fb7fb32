//! The writer thread: drains the rings of all threads and the queue, and writes in large batches.
//!
//! ```text
//!          traffic                     20 empty passes
//! start ──────────→ busy: pass, park 5 ms ──────────→ idle: park 250 ms
//!                    ↑                                     │
//!                    └──── unpark by the first log line ───┘
//! ```
//!
//! While the thread is busy it need not be woken, so logging a query is a copy. `idle` is read without a fence: in the
//! rare case that a line is pushed just as the thread becomes idle, it is written after at most 250 ms.

use std::io::{self, Write};
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rtrb::{Consumer, Producer, RingBuffer};

use super::line::{self, Level};

/// Bytes per ring. At 100 bytes a line, two million lines a second fill it in one busy pause.
const RING: usize = 1 << 20;
/// Maximum bytes of queued messages. `errors` logs one per failed query, so this must be bounded as well.
const QUEUE: usize = 4 << 20;
/// Bytes collected before a write. Large enough to make its cost small, small enough to stay in the CPU cache.
const BATCH: usize = 256 << 10;

const BUSY_PAUSE: Duration = Duration::from_millis(5);
const IDLE_PAUSE: Duration = Duration::from_millis(250);
const EMPTY_PASSES: u32 = 20;
/// Minimum interval between warnings about dropped lines.
const WARN_EVERY: Duration = Duration::from_secs(10);

pub(super) struct Writer {
    queue: Mutex<Vec<u8>>,
    /// New rings, not in `drain` yet. Separate from it, so that a new thread does not wait for a slow output.
    new_rings: Mutex<Vec<Consumer<u8>>>,
    /// Locked by the thread that writes: the writer thread, or a caller of `flush`.
    drain: Mutex<Drain>,
    dropped: AtomicU64,
    idle: AtomicBool,
    /// None if it could not be started; then each caller that logs a message also writes it.
    thread: OnceLock<Option<Thread>>,
}

struct Drain {
    output: Box<dyn Write + Send>,
    rings: Vec<Consumer<u8>>,
    batch: Vec<u8>,
    spare: Vec<u8>,
    reported: DropReport,
}

impl Writer {
    pub(super) fn new(output: Box<dyn Write + Send>) -> Self {
        Writer {
            queue: Mutex::default(),
            new_rings: Mutex::default(),
            drain: Mutex::new(Drain {
                output,
                rings: Vec::new(),
                batch: Vec::new(),
                spare: Vec::new(),
                reported: DropReport::default(),
            }),
            dropped: AtomicU64::new(0),
            idle: AtomicBool::new(false),
            thread: OnceLock::new(),
        }
    }

    /// A ring for the calling thread. It is removed when the producer is dropped and its lines are written.
    pub(super) fn ring(&self) -> Producer<u8> {
        let (producer, consumer) = RingBuffer::new(RING);
        lock(&self.new_rings).push(consumer);
        producer
    }

    /// Queues a message of whole lines.
    pub(super) fn push(&self, line: &[u8]) {
        let mut queue = lock(&self.queue);
        if queue.len() + line.len() > QUEUE {
            drop(queue);
            self.drop_lines(1);
        } else {
            queue.extend_from_slice(line);
        }
    }

    pub(super) fn drop_lines(&self, n: u64) {
        self.dropped.fetch_add(n, Ordering::Relaxed);
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn set_output(&self, output: Box<dyn Write + Send>) {
        let mut drain = lock(&self.drain);
        self.pass(&mut drain, Instant::now());
        drain.output = output;
    }

    /// Writes all earlier lines: each is in a ring, in the queue, or with the holder of the lock, who releases it only
    /// after writing; so one more pass is enough.
    pub(super) fn flush(&self) {
        self.pass(&mut lock(&self.drain), Instant::now());
    }

    /// The same with a timeout: the holder of the lock may be writing to a pipe that nobody reads. False on timeout.
    pub(super) fn flush_within(&'static self, timeout: Duration) -> bool {
        let (done, flushed) = mpsc::channel();
        let flushing = thread::Builder::new().name("log-flush".into()).spawn(move || {
            self.flush();
            let _ = done.send(());
        });
        flushing.is_ok() && flushed.recv_timeout(timeout).is_ok()
    }

    /// Drains the queue and every ring once and returns the number of bytes.
    fn pass(&self, drain: &mut Drain, now: Instant) -> usize {
        let mut taken = 0;
        drain.rings.append(&mut lock(&self.new_rings));

        mem::swap(&mut *lock(&self.queue), &mut drain.spare);
        if !drain.spare.is_empty() {
            taken += drain.spare.len();
            drain.batch.append(&mut drain.spare);
            self.write_if(drain, BATCH);
        }

        let mut at = 0;
        while let Some(ring) = drain.rings.get_mut(at) {
            // Checked first, so that lines pushed before the producer was dropped are read below.
            let gone = ring.is_abandoned();
            if let Ok(chunk) = ring.read_chunk(ring.slots()) {
                let (first, second) = chunk.as_slices();
                taken += chunk.len();
                drain.batch.extend_from_slice(first);
                drain.batch.extend_from_slice(second);
                chunk.commit_all();
            }
            if gone {
                drain.rings.swap_remove(at);
            } else {
                at += 1;
            }
            self.write_if(drain, BATCH);
        }

        if let Some(lost) = drain.reported.due(self.dropped(), now) {
            let text =
                format_args!("{lost} log lines dropped: standard output is not read fast enough, or failed");
            line::message(&mut drain.batch, super::format(), Level::Warning, Some("log"), &text);
        }
        self.write_if(drain, 1);
        taken
    }

    fn write_if(&self, drain: &mut Drain, at_least: usize) {
        if drain.batch.len() < at_least {
            return;
        }
        if write_all(&mut *drain.output, &drain.batch).is_err() {
            // The log itself fails, so the lines can only be counted.
            self.drop_lines(drain.batch.iter().filter(|byte| **byte == b'\n').count() as u64);
        }
        drain.batch.clear();
        // Releases the memory of a burst.
        drain.batch.shrink_to(2 * BATCH);
        drain.spare.shrink_to(BATCH);
    }
}

impl Writer {
    /// Starts the thread if necessary and wakes it.
    pub(super) fn wake(&'static self) {
        let thread = self.thread.get_or_init(|| {
            let spawned = supervise::thread("log", "log".into(), || self.run());
            spawned.ok().map(|handle| handle.thread().clone())
        });
        match thread {
            Some(thread) => thread.unpark(),
            None => self.flush(),
        }
    }

    /// Called after a query line: wakes the thread only if it is idle.
    #[inline]
    pub(super) fn wake_if_idle(&'static self) {
        let started = self.thread.get().is_some();
        if !started || (self.idle.load(Ordering::Relaxed) && self.idle.swap(false, Ordering::Relaxed)) {
            self.wake();
        }
    }

    fn run(&self) {
        let mut empty = 0;
        loop {
            supervise::fail_point("log");
            let taken = self.pass(&mut lock(&self.drain), Instant::now());
            empty = if taken > 0 { 0 } else { empty + 1 };
            if taken >= BATCH {
                // More than usually gathers in a pause: rings may be filling, so drain again at once.
            } else if empty < EMPTY_PASSES {
                thread::park_timeout(BUSY_PAUSE);
            } else {
                self.idle.store(true, Ordering::Relaxed);
                thread::park_timeout(IDLE_PAUSE);
                self.idle.store(false, Ordering::Relaxed);
                // One more empty pass makes the thread idle again.
                empty = EMPTY_PASSES - 1;
            }
        }
    }
}

/// The last warning about dropped lines.
#[derive(Default)]
struct DropReport {
    lines: u64,
    at: Option<Instant>,
}

impl DropReport {
    /// The number of lines dropped since the last warning, if the next one is due.
    fn due(&mut self, dropped: u64, now: Instant) -> Option<u64> {
        let early = self.at.is_some_and(|at| now.saturating_duration_since(at) < WARN_EVERY);
        if early || dropped == self.lines {
            return None;
        }
        let lost = dropped - self.lines;
        *self = DropReport { lines: dropped, at: Some(now) };
        Some(lost)
    }
}

/// Like `Write::write_all`, but retries when another process made the shared standard output non-blocking.
fn write_all(output: &mut (dyn Write + Send), mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match output.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
            Err(e) => return Err(e),
        }
    }
    output.flush()
}

/// Ignores poisoning: a panic can at worst leave a truncated line.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::tests::Shared;

    #[test]
    fn messages_keep_their_order_and_rings_theirs() {
        let out = Shared::default();
        let w = Writer::new(Box::new(out.clone()));
        let mut ring = w.ring();
        for i in 0..3 {
            w.push(format!("m{i}\n").as_bytes());
            ring.push_entire_slice(format!("q{i}\n").as_bytes()).unwrap();
        }
        w.flush();
        assert_eq!(out.take(), "m0\nm1\nm2\nq0\nq1\nq2\n");
        // Nothing is written twice.
        w.flush();
        assert_eq!(out.take(), "");
    }

    #[test]
    fn one_pass_is_one_write() {
        let out = Shared::default();
        let w = Writer::new(Box::new(out.clone()));
        let mut rings: Vec<_> = (0..4).map(|_| w.ring()).collect();
        for ring in &mut rings {
            ring.push_entire_slice(b"q\n").unwrap();
        }
        w.flush();
        assert_eq!(out.take(), "q\nq\nq\nq\n");
        assert_eq!(out.writes(), 1);
    }

    #[test]
    fn a_ring_is_removed_with_its_thread_after_its_lines_are_written() {
        let out = Shared::default();
        let w = Writer::new(Box::new(out.clone()));
        let mut ring = w.ring();
        ring.push_entire_slice(b"last\n").unwrap();
        drop(ring);
        w.flush();
        assert_eq!(out.take(), "last\n");
        assert!(lock(&w.drain).rings.is_empty());
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let out = Shared::default();
        let w = Writer::new(Box::new(out.clone()));
        let line = vec![b'\n'; QUEUE];
        w.push(&line);
        w.push(b"lost\n");
        assert_eq!(w.dropped(), 1);
        w.flush();
        // Not the whole line: another test may have turned JSON on.
        assert!(out.take().contains("1 log lines dropped: "));
        w.push(b"room\n");
        w.flush();
        assert_eq!(out.take(), "room\n");
    }

    #[test]
    fn drops_are_reported_once_per_ten_seconds() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut r = DropReport::default();
        assert_eq!(r.due(0, start), None);
        assert_eq!(r.due(3, start), Some(3));
        assert_eq!(r.due(8, after(9)), None);
        assert_eq!(r.due(9, after(10)), Some(6));
        assert_eq!(r.due(9, after(30)), None);
    }

    #[test]
    fn a_failing_output_is_counted_and_survived() {
        struct Broken;
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let w = Writer::new(Box::new(Broken));
        w.push(b"a\n");
        w.push(b"b\n");
        w.flush();
        assert_eq!(w.dropped(), 2);
    }

    #[test]
    fn a_non_blocking_output_loses_nothing() {
        struct Slow(Shared, bool);
        impl Write for Slow {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if self.1 { Err(io::ErrorKind::WouldBlock.into()) } else { self.0.write(&bytes[..1]) }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let out = Shared::default();
        let w = Writer::new(Box::new(Slow(out.clone(), false)));
        w.push(b"abc\n");
        w.flush();
        assert_eq!((out.take().as_str(), w.dropped()), ("abc\n", 0));
    }
}
