//! `pprof`: serves profiles over HTTP, for `go tool pprof`. The server measures only during a request.

mod profile;
mod setup;
#[cfg(test)]
mod tests;
mod threads;

use std::time::{Duration, SystemTime};

use server::http::{HttpAnswer, HttpBody, HttpFuture, HttpRequest, Route};

use profile::encode;
pub(crate) use setup::setup;

const PREFIX: &str = "/debug/pprof";
const DEFAULT_SECONDS: u64 = 30;
/// The connection stays open for the duration of a profile, which is therefore limited.
const MAX_SECONDS: u64 = 300;

const INDEX: &str = "<html><head><title>/debug/pprof/</title></head><body>\n<h1>Profiles</h1>\n<ul>\n\
    <li><a href=\"profile?seconds=5\">profile</a>: CPU time of each thread, for <code>go tool pprof</code>; \
    <code>?seconds=N</code> sets the duration (default 30)</li>\n\
    <li><a href=\"cmdline\">cmdline</a>: the command line of the process</li>\n\
    </ul>\n</body></html>\n";

/// Go's profiles that Rhumb does not have, and the alternative.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("/debug/pprof/allocs", "see the metric process_resident_memory_bytes for the memory in use"),
    ("/debug/pprof/heap", "see the metric process_resident_memory_bytes for the memory in use"),
    ("/debug/pprof/block", "workers do not block; see /debug/pprof/profile for the CPU time of each thread"),
    ("/debug/pprof/mutex", "queries take no locks; see /debug/pprof/profile for the CPU time of each thread"),
    ("/debug/pprof/goroutine", "see the metric go_goroutines for the number of tasks and threads"),
    ("/debug/pprof/threadcreate", "see the metric go_threads for the number of threads"),
    ("/debug/pprof/trace", "use perf, strace or bpftrace from outside"),
    ("/debug/pprof/symbol", "profiles contain their symbols"),
];

/// The routes of an address.
fn routes(addr: &str) -> Vec<Route> {
    let mut routes = vec![
        Route::new(addr, PREFIX, index),
        Route::new(addr, "/debug/pprof/", index),
        Route::new(addr, "/debug/pprof/cmdline", command_line),
        Route::deferred(addr, "/debug/pprof/profile", |request| record(request.query())),
    ];
    for (path, instead) in UNSUPPORTED {
        let answer =
            move |_: &HttpRequest| HttpAnswer::text(404, format!("not supported by Rhumb: {instead}\n"));
        routes.push(Route::new(addr, path, answer));
    }
    routes
}

fn index(_: &HttpRequest) -> HttpAnswer {
    answer("text/html; charset=utf-8", INDEX.into())
}

/// The arguments, separated by NUL.
fn command_line(_: &HttpRequest) -> HttpAnswer {
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    answer("text/plain; charset=utf-8", arguments.join("\0").into_bytes())
}

/// Records a profile for the `seconds=N` of the query string.
fn record(query: &str) -> HttpFuture {
    let time = Duration::from_secs(seconds(query));
    Box::pin(async move {
        let start = SystemTime::now();
        let read = || tokio::task::spawn_blocking(threads::read);
        let before = read().await.unwrap_or_default();
        tokio::time::sleep(time).await;
        let after = read().await.unwrap_or_default();
        let usage = threads::usage(&before, &after);
        answer("application/octet-stream", encode(&usage, start, time))
    })
}

/// As in Go, anything but a positive number is the default.
fn seconds(query: &str) -> u64 {
    let given = query.split('&').find_map(|pair| pair.strip_prefix("seconds="));
    let number = given.and_then(|text| text.parse::<u64>().ok()).filter(|number| *number > 0);
    number.unwrap_or(DEFAULT_SECONDS).min(MAX_SECONDS)
}

fn answer(content_type: &str, bytes: Vec<u8>) -> HttpAnswer {
    HttpAnswer::new(200, HttpBody { content_type: content_type.to_owned(), bytes })
}
