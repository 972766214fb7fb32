//! Which objects of a resource a watch covers. The scope is also the right that it needs (RBAC), and decides what a census
//! can count.

/// The objects of a watch: all, those of a namespace, one by name, or those that selectors match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Empty: all namespaces.
    namespace: String,
    name: Option<String>,
    labels: Option<String>,
    fields: Option<String>,
}

impl Scope {
    pub fn all() -> Self {
        Self::default()
    }

    /// The objects of one namespace: a Role there suffices.
    pub fn namespace(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..Self::default() }
    }

    /// One object. A Role with `resourceNames` suffices, since the requests select by `metadata.name`.
    pub fn name(namespace: &str, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..Self::namespace(namespace) }
    }

    /// Restricts the scope by a label selector in the API's syntax: `app=web`.
    pub fn labels(self, selector: &str) -> Self {
        Self { labels: Some(selector.to_owned()), ..self }
    }

    /// Restricts the scope by a field selector in the API's syntax: `status.phase!=Failed`.
    pub fn fields(self, selector: &str) -> Self {
        Self { fields: Some(selector.to_owned()), ..self }
    }

    pub(crate) fn namespace_name(&self) -> &str {
        &self.namespace
    }

    /// The selector parameters of lists and watches.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        let by_name = self.name.as_ref().map(|name| format!("metadata.name={name}"));
        let fields: Vec<String> = by_name.into_iter().chain(self.fields.clone()).collect();
        let fields = (!fields.is_empty()).then(|| ("fieldSelector", fields.join(",")));
        let labels = self.labels.as_ref().map(|labels| ("labelSelector", labels.clone()));
        fields.into_iter().chain(labels).collect()
    }

    /// The selector parameters of a census. One name is selected, since without it the request may be forbidden; other
    /// selectors are left out, since a server might read many objects for them.
    pub(crate) fn census_parameters(&self) -> Vec<(&'static str, String)> {
        match &self.name {
            Some(name) => vec![("fieldSelector", format!("metadata.name={name}"))],
            None => Vec::new(),
        }
    }

    /// Whether a census counts exactly the objects of the watch.
    pub(crate) fn is_countable(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_select_and_count() {
        let check = |scope: Scope, namespace: &str, parameters: &[(&str, &str)], countable: bool| {
            let got = scope.parameters();
            let got: Vec<(&str, &str)> = got.iter().map(|(name, value)| (*name, &**value)).collect();
            assert_eq!(
                (scope.namespace_name(), &*got, scope.is_countable()),
                (namespace, parameters, countable)
            );
        };
        check(Scope::all(), "", &[], true);
        check(Scope::namespace("shop"), "shop", &[], true);
        check(Scope::name("shop", "web"), "shop", &[("fieldSelector", "metadata.name=web")], true);
        check(Scope::all().labels("app=web"), "", &[("labelSelector", "app=web")], false);
        check(
            Scope::name("", "web").fields("a!=b").labels("c"),
            "",
            &[("fieldSelector", "metadata.name=web,a!=b"), ("labelSelector", "c")],
            false,
        );
    }
}
