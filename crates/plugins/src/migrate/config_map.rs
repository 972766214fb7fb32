//! A Kubernetes ConfigMap, as `kubectl get -o yaml` and `-o json` print it: CoreDNS's contains a Corefile, kube-dns's
//! has other keys.

use corefile::Diagnostic;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::{Migrated, kube_dns};

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConfigMap {
    metadata: Metadata,
    data: Option<Data>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
}

/// The keys that CoreDNS or kube-dns reads. All values are strings, some of them with JSON inside.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Data {
    #[serde(rename = "Corefile")]
    corefile: Option<Spanned<String>>,
    pub stub_domains: Option<Spanned<String>>,
    pub upstream_nameservers: Option<Spanned<String>>,
    pub federations: Option<Spanned<String>>,
}

pub(super) fn migrate(name: &str, text: &str) -> Result<Migrated, Diagnostic> {
    let map: ConfigMap = serde_saphyr::from_str(text)
        .map_err(|error| Diagnostic::error(format!("{name}: invalid ConfigMap: {error}")))?;
    let data = map.data.unwrap_or_default();
    if let Some(corefile) = &data.corefile {
        return migrate_corefile(name, text, corefile);
    }
    let is_empty =
        data.stub_domains.is_none() && data.upstream_nameservers.is_none() && data.federations.is_none();
    // An empty ConfigMap of kube-dns is valid: all settings have their defaults.
    if is_empty && map.metadata.name != "kube-dns" {
        let keys = "Corefile, stubDomains, upstreamNameservers or federations";
        return Err(Diagnostic::error(format!("{name}: the ConfigMap has none of the keys {keys}")));
    }
    kube_dns::translate(name, &data)
}

fn migrate_corefile(name: &str, text: &str, corefile: &Spanned<String>) -> Result<Migrated, Diagnostic> {
    let Some(before) = lines_before(text, corefile) else {
        // The Corefile is one string, as in JSON: line numbers are those inside of it.
        return super::corefile(&format!("{name} (data.Corefile)"), &corefile.value);
    };
    let mut migrated = super::corefile(name, &corefile.value)?;
    migrated.changes.iter_mut().for_each(|change| change.line += before);
    migrated.notes.iter_mut().for_each(|note| note.line += before);
    Ok(migrated)
}

/// The number of lines before the Corefile, if it is a block scalar.
fn lines_before(text: &str, corefile: &Spanned<String>) -> Option<u32> {
    let line = usize::try_from(corefile.referenced.line()).ok()?;
    let same = |before: usize| {
        let mut outer = text.lines().skip(before);
        corefile.value.lines().all(|inner| outer.next().is_some_and(|outer| outer.trim() == inner.trim()))
    };
    // The parser reports the line of the indicator or the first line of the value.
    let before = [line, line.checked_sub(1)?].into_iter().find(|before| same(*before))?;
    u32::try_from(before).ok()
}
