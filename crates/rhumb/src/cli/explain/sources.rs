//! What plugins answer from: which kubeconfig they read a cluster with, and how long explain waits for their data.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use plugins::Kubeconfig;
use server::{Config, FirstData};

use crate::cli::args::ExplainArgs;

/// How long sources may take. A query that is forwarded needs the rest of [`super::LIMIT`].
const WAIT: Duration = Duration::from_secs(5);
/// A source that reports errors for this long has been tried more than once.
const FAILING: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(10);

/// The kubeconfig of the flags, else that of the environment.
pub fn kubeconfig(args: &ExplainArgs) -> Result<Option<Kubeconfig>, String> {
    let context = args.context.clone();
    let over_corefile = args.kubeconfig.is_some() || context.is_some();
    match args.kubeconfig.clone().or_else(from_environment) {
        Some(file) => Ok(Some(Kubeconfig { file, context, over_corefile })),
        None => match context {
            Some(context) => Err(format!(
                "--context {context}: there is no kubeconfig; name one with --kubeconfig FILE or in $KUBECONFIG"
            )),
            None => Ok(None),
        },
    }
}

/// `$KUBECONFIG` may list several files, some of which need not exist.
fn from_environment() -> Option<PathBuf> {
    let listed = env::var_os("KUBECONFIG")?;
    let files: Vec<PathBuf> = env::split_paths(&listed).filter(|file| !file.as_os_str().is_empty()).collect();
    files.iter().find(|file| file.exists()).or(files.first()).cloned()
}

/// Waits until all sources are known or keep failing, but not for long: `startup_timeout` is for servers.
pub fn gather(config: &Arc<Config>) -> Result<(), String> {
    let deadline = Instant::now() + WAIT;
    let prepared = Arc::clone(config);
    let mut preparing = Some(thread::spawn(move || prepared.prepare()));
    let mut failing = None;
    loop {
        if let Some(done) = preparing.take_if(|thread| thread.is_finished()) {
            let done =
                done.join().unwrap_or_else(|_| Err("a plugin panicked while it was prepared".to_owned()));
            done.map_err(with_help)?;
        }
        let now = Instant::now();
        match first_data(config) {
            FirstData::Complete if preparing.is_none() => return Ok(()),
            FirstData::Failing if now - *failing.get_or_insert(now) >= FAILING => return Ok(()),
            FirstData::Complete | FirstData::Failing => {}
            FirstData::Pending => failing = None,
        }
        if now >= deadline {
            return Ok(());
        }
        thread::sleep(POLL);
    }
}

fn with_help(error: String) -> String {
    if error.contains("in-cluster configuration") {
        return format!(
            "{error}\noutside of a pod, name the cluster with --kubeconfig FILE or in $KUBECONFIG"
        );
    }
    error
}

fn first_data(config: &Config) -> FirstData {
    let plugins = config.blocks().iter().flat_map(|block| block.chain());
    let states = plugins.filter_map(|plugin| plugin.as_ready()).map(|plugin| plugin.first_data());
    states.max().unwrap_or(FirstData::Complete)
}
