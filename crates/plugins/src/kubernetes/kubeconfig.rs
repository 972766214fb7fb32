//! A kubeconfig given outside of the Corefile: `rhumb explain` reads a cluster without running in a pod.

use std::path::PathBuf;
use std::sync::OnceLock;

use cluster::Source;

static CHOSEN: OnceLock<Kubeconfig> = OnceLock::new();

/// A kubeconfig that replaces sources of the Corefile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubeconfig {
    pub file: PathBuf,
    /// None is the current context.
    pub context: Option<String>,
    /// Replaces `endpoint` and `kubeconfig` too, not only the service account of the pod.
    pub over_corefile: bool,
}

impl Kubeconfig {
    /// Applies it to every Corefile that this process reads from now on. Later calls have no effect.
    pub fn choose(self) {
        let _ = CHOSEN.set(self);
    }

    fn replaces(&self, source: &Source) -> bool {
        match source {
            Source::InCluster => true,
            Source::Kubeconfig { .. } | Source::Endpoint { .. } => self.over_corefile,
            Source::Manifests(_) => false,
        }
    }

    fn source(&self) -> Source {
        Source::Kubeconfig { file: self.file.clone(), context: self.context.clone() }
    }
}

/// The source to use instead of the Corefile's, or that one unchanged.
pub(super) fn override_source(source: Source) -> Source {
    match CHOSEN.get() {
        Some(chosen) if chosen.replaces(&source) => chosen.source(),
        _ => source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_that_are_replaced() {
        let endpoint = Source::Endpoint { url: "http://[::1]:8080".to_owned(), tls: None };
        let written = Source::Kubeconfig { file: "/written".into(), context: None };
        for (source, by_environment, by_flag) in [
            (Source::InCluster, true, true),
            (endpoint, false, true),
            (written, false, true),
            (Source::Manifests("/cluster".into()), false, false),
        ] {
            let chosen = |over_corefile| Kubeconfig { file: "/chosen".into(), context: None, over_corefile };
            let replaced = [chosen(false).replaces(&source), chosen(true).replaces(&source)];
            assert_eq!(replaced, [by_environment, by_flag], "{source}");
        }
    }
}
