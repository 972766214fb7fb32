//! Captures the process log for one test at a time.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use server::log;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Collects log lines until it is dropped. Other tests may log meanwhile, so lines are selected by a mark.
pub(crate) struct Capture {
    out: Shared,
    _lock: MutexGuard<'static, ()>,
}

impl Capture {
    pub fn take() -> Capture {
        static LOCK: Mutex<()> = Mutex::new(());
        let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let out = Shared::default();
        log::set_output(Box::new(out.clone()));
        Capture { out, _lock: lock }
    }

    /// The lines logged since the last call that contain `mark`.
    pub fn lines(&self, mark: &str) -> Vec<String> {
        log::flush();
        let bytes = std::mem::take(&mut *self.out.0.lock().unwrap_or_else(PoisonError::into_inner));
        let text = String::from_utf8_lossy(&bytes);
        text.lines().filter(|line| line.contains(mark)).map(str::to_owned).collect()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        log::set_output(Box::new(io::stdout()));
    }
}
