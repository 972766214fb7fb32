//! The one tokio runtime of the process: TCP, most queries that wait, HTTP and periodic work.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};

/// The runtime's handle; the runtime starts with the first call and lives as long as the process.
pub fn handle() -> &'static Handle {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            Builder::new_multi_thread()
                .worker_threads(net::cpu::available().clamp(1, 8))
                .thread_name("rhumb-tokio")
                .enable_all()
                .build()
                .expect("threads for the tokio runtime")
        })
        .handle()
}
