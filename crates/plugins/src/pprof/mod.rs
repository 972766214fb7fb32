//! `pprof`: profiles over HTTP, for `go tool pprof` and for people. Nothing is measured before somebody asks.

mod profile;
mod setup;
#[cfg(test)]
mod tests;
mod threads;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use server::http::{Coming, Content, HttpAnswer, HttpBody, HttpState, Route};

use profile::encode;
pub(crate) use setup::setup;

const FOLDER: &str = "/debug/pprof";
const SECONDS: u64 = 30;
/// Nobody watches for longer than this, and a connection is kept meanwhile.
const LONGEST: u64 = 300;

const INDEX: &str = "<html><head><title>/debug/pprof/</title></head><body>\n<h1>Profiles</h1>\n<ul>\n\
    <li><a href=\"profile?seconds=5\">profile</a>: CPU time of each thread, for <code>go tool pprof</code>; \
    <code>?seconds=N</code> says for how long to watch (30)</li>\n\
    <li><a href=\"cmdline\">cmdline</a>: the command line of the process</li>\n\
    </ul>\n</body></html>\n";

/// What Go has and we have not, and where to look instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("/debug/pprof/allocs", "the memory in use is in the metric process_resident_memory_bytes"),
    ("/debug/pprof/heap", "the memory in use is in the metric process_resident_memory_bytes"),
    ("/debug/pprof/block", "workers do not block; the CPU time of each thread is at /debug/pprof/profile"),
    ("/debug/pprof/mutex", "queries take no locks; the CPU time of each thread is at /debug/pprof/profile"),
    ("/debug/pprof/goroutine", "the number of tasks and threads is in the metric go_goroutines"),
    ("/debug/pprof/threadcreate", "the number of threads is in the metric go_threads"),
    ("/debug/pprof/trace", "use perf, strace or bpftrace from outside"),
    ("/debug/pprof/symbol", "profiles carry their names"),
];

/// All that is served on an address.
fn routes(addr: &str) -> Vec<Route> {
    let route = |path, answer: fn(&HttpState) -> HttpAnswer| Route {
        addr: addr.to_owned(),
        path,
        answer: Arc::new(answer),
    };
    let mut routes = vec![
        route(FOLDER, index),
        route("/debug/pprof/", index),
        route("/debug/pprof/cmdline", command_line),
        route("/debug/pprof/profile", |_| HttpAnswer::waiting(watch)),
    ];
    for (path, instead) in ELSEWHERE {
        let answer = move |_: &HttpState| HttpAnswer::text(404, format!("not in Rhumb: {instead}\n"));
        routes.push(Route { addr: addr.to_owned(), path, answer: Arc::new(answer) });
    }
    routes
}

fn index(_: &HttpState) -> HttpAnswer {
    answer("text/html; charset=utf-8", INDEX.into())
}

/// The arguments, with a zero between them.
fn command_line(_: &HttpState) -> HttpAnswer {
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    answer("text/plain; charset=utf-8", arguments.join("\0").into_bytes())
}

/// Watches for as long as `seconds=N` in the query says.
fn watch(query: &str) -> Coming {
    let time = Duration::from_secs(seconds(query));
    Box::pin(async move {
        let start = SystemTime::now();
        let read = || tokio::task::spawn_blocking(threads::read);
        let before = read().await.unwrap_or_default();
        tokio::time::sleep(time).await;
        let after = read().await.unwrap_or_default();
        let used = threads::used(&before, &after);
        answer("application/octet-stream", encode(&used, start, time))
    })
}

/// As Go reads it: what is no number above zero is 30.
fn seconds(query: &str) -> u64 {
    let given = query.split('&').find_map(|pair| pair.strip_prefix("seconds="));
    let number = given.and_then(|text| text.parse::<u64>().ok()).filter(|number| *number > 0);
    number.unwrap_or(SECONDS).min(LONGEST)
}

fn answer(content_type: &str, bytes: Vec<u8>) -> HttpAnswer {
    let body = HttpBody { content_type: content_type.to_owned(), bytes };
    HttpAnswer { status: 200, content: Content::Plain(body) }
}
