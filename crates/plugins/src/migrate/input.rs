//! What kind of file it is.

/// A configuration for CoreDNS, or an object of Kubernetes that holds one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    Corefile,
    ConfigMap,
}

/// Looks for `kind: ConfigMap`, as YAML or JSON; no plugin is called that. Comments do not count.
pub(super) fn read(text: &str) -> Input {
    let is_config_map = text.lines().filter(|line| !line.trim_start().starts_with('#')).any(|line| {
        let bare: String = line.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
        // In JSON more may stand on the line.
        bare == "kind:ConfigMap" || bare.split(['{', ',', '}']).any(|part| part == "kind:ConfigMap")
    });
    if is_config_map { Input::ConfigMap } else { Input::Corefile }
}
