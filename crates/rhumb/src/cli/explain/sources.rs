//! The plugins' data sources: the kubeconfig they use, and how long explain waits for their data.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use plugins::Kubeconfig;
use server::{Config, FirstData, Ready};

use super::Args;

/// Limit for all sources; a forwarded query needs the rest of [`super::TIMEOUT`].
const DATA_TIMEOUT: Duration = Duration::from_secs(5);
/// A source that reports errors for this long has been retried.
const FAILING_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The kubeconfig named by the flags, else by the environment.
pub fn kubeconfig(args: &Args) -> Result<Option<Kubeconfig>, String> {
    let context = args.context.clone();
    let over_corefile = args.kubeconfig.is_some() || context.is_some();
    match args.kubeconfig.clone().or_else(from_environment) {
        Some(file) => Ok(Some(Kubeconfig { file, context, over_corefile })),
        None => match context {
            Some(context) => Err(format!(
                "--context {context}: no kubeconfig; name one with --kubeconfig FILE or in $KUBECONFIG"
            )),
            None => Ok(None),
        },
    }
}

/// `$KUBECONFIG` may list several files, of which some may not exist.
fn from_environment() -> Option<PathBuf> {
    let listed = env::var_os("KUBECONFIG")?;
    let files: Vec<PathBuf> = env::split_paths(&listed).filter(|file| !file.as_os_str().is_empty()).collect();
    files.iter().find(|file| file.exists()).or(files.first()).cloned()
}

/// Waits until all sources are complete or keep failing; shorter than `startup_timeout`, which is for servers.
pub fn wait_for_data(config: &Arc<Config>) -> Result<(), String> {
    let deadline = Instant::now() + DATA_TIMEOUT;
    let prepared = Arc::clone(config);
    let mut preparing = Some(thread::spawn(move || prepared.prepare()));
    let mut failing = None;
    loop {
        if let Some(done) = preparing.take_if(|thread| thread.is_finished()) {
            let done = done.join().unwrap_or_else(|_| Err("a plugin panicked during preparation".to_owned()));
            done.map_err(with_help)?;
        }
        let now = Instant::now();
        match first_data(config) {
            FirstData::Complete if preparing.is_none() => return Ok(()),
            FirstData::Failing if now - *failing.get_or_insert(now) >= FAILING_TIMEOUT => return Ok(()),
            FirstData::Complete | FirstData::Failing => {}
            FirstData::Pending => failing = None,
        }
        if now >= deadline {
            return Ok(());
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn with_help(error: String) -> String {
    if error.contains("in-cluster configuration") {
        return format!("{error}\noutside a pod, name the cluster with --kubeconfig FILE or in $KUBECONFIG");
    }
    error
}

fn first_data(config: &Config) -> FirstData {
    let plugins = config.blocks().iter().flat_map(|block| block.offers::<dyn Ready>());
    plugins.map(|plugin| plugin.value.first_data()).max().unwrap_or(FirstData::Complete)
}
