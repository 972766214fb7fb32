//! Detects the type of the input file.

/// A Corefile, or a Kubernetes object that contains one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    Corefile,
    ConfigMap,
}

/// Searches for `kind: ConfigMap`, as YAML or JSON, outside of comments; no plugin has that name.
pub(super) fn detect(text: &str) -> Input {
    let is_config_map = text.lines().filter(|line| !line.trim_start().starts_with('#')).any(|line| {
        let bare: String = line.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
        // In JSON the line may have more fields.
        bare == "kind:ConfigMap" || bare.split(['{', ',', '}']).any(|part| part == "kind:ConfigMap")
    });
    if is_config_map { Input::ConfigMap } else { Input::Corefile }
}
