//! Tests of the public interface. Those of the global state (output, format, debug) run under one lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::*;

/// An output that can be read while the writer has it.
#[derive(Clone, Default)]
pub(super) struct Shared {
    bytes: Arc<Mutex<(Vec<u8>, usize)>>,
}

impl Shared {
    pub(super) fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut self.bytes.lock().unwrap().0)).unwrap()
    }

    pub(super) fn writes(&self) -> usize {
        self.bytes.lock().unwrap().1
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.bytes.lock().unwrap();
        inner.0.extend_from_slice(bytes);
        inner.1 += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The process log, captured until dropped. Other tests of the crate may log meanwhile, so lines are found by a mark.
struct Global {
    out: Shared,
    _lock: MutexGuard<'static, ()>,
}

impl Global {
    fn take() -> Self {
        static LOCK: Mutex<()> = Mutex::new(());
        let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let out = Shared::default();
        set_output(Box::new(out.clone()));
        Global { out, _lock: lock }
    }

    /// The lines with this mark so far.
    fn lines(&self, mark: &str) -> Vec<String> {
        flush();
        self.out.take().lines().filter(|line| line.contains(mark)).map(String::from).collect()
    }
}

impl Drop for Global {
    fn drop(&mut self) {
        set_format(Format::Text);
        set_debug(false);
        set_output(Box::new(io::stdout()));
    }
}

#[test]
fn levels_plugins_and_debug() {
    const HOSTS: Logger = plugin("hosts");
    let log = Global::take();
    debug(None, format_args!("mark1 unseen"));
    HOSTS.debug("mark1 unseen");
    set_debug(true);
    HOSTS.debug(format_args!("mark1 {}", "seen"));
    info(None, format_args!("mark1 {}", 2));
    HOSTS.warning("mark1 3");
    HOSTS.error(String::from("mark1 4"));
    HOSTS.info("mark1 5");
    fatal(Some("x"), format_args!("mark1 6"));
    // fatal has flushed: no flush needed here.
    assert!(String::from_utf8_lossy(&log.out.bytes.lock().unwrap().0).contains("mark1 6"));
    assert_eq!(
        log.lines("mark1"),
        [
            "[DEBUG] plugin/hosts: mark1 seen",
            "[INFO] mark1 2",
            "[WARNING] plugin/hosts: mark1 3",
            "[ERROR] plugin/hosts: mark1 4",
            "[INFO] plugin/hosts: mark1 5",
            "[FATAL] plugin/x: mark1 6",
        ]
    );
}

#[test]
fn queries_as_text_and_as_json() {
    let log = Global::take();
    query_line(|out| out.extend(b"mark2 one"));
    query_record(|out| out.extend(b"mark2 two"), |_| panic!("not called for text"));
    assert_eq!(log.lines("mark2"), ["[INFO] mark2 one", "[INFO] mark2 two"]);

    set_format(Format::Json);
    query_record(|out| out.extend(b"mark2 \"three\""), |f| f.text("plugin", "log"));
    let lines = log.lines("mark2");
    assert!(
        lines[0].ends_with(r#"Z","level":"INFO","msg":"mark2 \"three\"","plugin":"log"}"#),
        "{}",
        lines[0]
    );
}

#[test]
fn threads_keep_their_order_and_the_writer_needs_no_flush() {
    const THREADS: usize = 4;
    const LINES: usize = 2000;
    let log = Global::take();
    std::thread::scope(|scope| {
        for t in 0..THREADS {
            scope.spawn(move || {
                attach();
                for i in 0..LINES {
                    query_line(|out| write!(out, "mark3 {t} {i}").unwrap());
                }
            });
        }
    });
    // No flush: the writer thread has to write by itself.
    let deadline = Instant::now() + Duration::from_secs(20);
    let count = |log: &Global| {
        let bytes = &log.out.bytes.lock().unwrap().0;
        String::from_utf8_lossy(bytes).matches("mark3").count()
    };
    while count(&log) < THREADS * LINES && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    let lines = log.lines("mark3");
    assert_eq!(lines.len(), THREADS * LINES);
    for t in 0..THREADS {
        let mine: Vec<&String> =
            lines.iter().filter(|l| l.starts_with(&format!("[INFO] mark3 {t} "))).collect();
        assert!(mine.iter().enumerate().all(|(i, line)| **line == format!("[INFO] mark3 {t} {i}")));
    }
}

#[test]
fn a_full_ring_drops_whole_lines() {
    // A writer nobody drains, so that the ring certainly fills.
    let out = Shared::default();
    let writer = Writer::new(Box::new(out.clone()));
    let mut local = ThreadLog::new(&writer);
    let text = [b'x'; 1000];
    let mut fits = 0;
    while local.query(Format::Text, |out| out.extend(text), |_| ()) {
        fits += 1;
    }
    assert_eq!(fits, (1 << 20) / (1000 + b"[INFO] \n".len()));
    writer.flush();
    let written = out.take();
    assert_eq!(written.lines().count(), fits);
    assert!(written.lines().all(|line| line.len() == 1007));
    // There is room again.
    assert!(local.query(Format::Text, |out| out.extend(text), |_| ()));
}

#[test]
fn logging_while_formatting_loses_the_inner_line_only() {
    let log = Global::take();
    let before = dropped();
    query_line(|out| {
        query_line(|out| out.extend(b"mark5 inner"));
        out.extend(b"mark5 outer");
    });
    assert_eq!(log.lines("mark5"), ["[INFO] mark5 outer"]);
    assert!(dropped() > before);
}
