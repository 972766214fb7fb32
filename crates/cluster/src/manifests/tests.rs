mod hostile;
mod hung;

use std::fs;
use std::sync::Arc;

use tempfile::TempDir;

use super::folder::{Bounds, Folder, Scan};
use crate::object::{Kind, Object, ServiceType};
use crate::want::Want;
use crate::watch::{SharedState, Source};

/// A folder that the test scans.
struct TestFolder {
    folder: Option<Folder>,
    dir: TempDir,
}

impl TestFolder {
    fn new() -> Self {
        Self::with(Bounds::default())
    }

    fn with(bounds: Bounds) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let want = Want { kinds: Kind::ALL.to_vec(), ..Want::default() };
        let shared = SharedState::new(Source::Manifests(dir.path().to_owned()), want);
        Self { folder: Some(Folder::new(dir.path().to_owned(), Arc::new(shared), bounds)), dir }
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn scan(&mut self) -> Scan {
        let (folder, scan) = self.folder.take().unwrap().scan();
        self.folder = Some(folder);
        scan.unwrap()
    }

    /// `Service shop/web`, one per line.
    fn known(&self) -> Vec<String> {
        let folder = self.folder.as_ref().unwrap();
        let objects = Kind::ALL.iter().flat_map(|kind| folder.objects(*kind));
        objects.map(|(object, _)| describe(&object)).collect()
    }

    fn check(&mut self, changed: bool, known: &[&str], problems: &[&str]) {
        let scan = self.scan();
        assert_eq!((scan.changed, self.known()), (changed, known.iter().map(|it| it.to_string()).collect()));
        assert_eq!(scan.problems.len(), problems.len(), "{:?}", scan.problems);
        for (got, expected) in scan.problems.iter().zip(problems) {
            let prefix = format!("{}/", self.dir.path().display());
            let got = got.replace(&prefix, "");
            assert!(got.contains(expected), "{got:?} should contain {expected:?}");
            assert!(!got.contains('\n'), "{got:?} is one line");
        }
    }
}

fn describe(object: &Object) -> String {
    match object {
        Object::Namespace(it) => format!("Namespace {}", it.name),
        Object::Service(it) => match &it.kind {
            ServiceType::ClusterIp(ips) => format!("Service {} {ips:?}", it.key),
            ServiceType::Headless => format!("Service {} None", it.key),
            ServiceType::ExternalName(name) => format!("Service {} {name}", it.key),
        },
        Object::EndpointSlice(it) => format!("EndpointSlice {} {}", it.key, it.endpoints.len()),
        Object::Pod(it) => format!("Pod {} {:?}", it.key, it.ips),
        Object::ServiceImport(it) => format!("ServiceImport {} {:?}", it.key, it.ips),
    }
}

const WEB: &str =
    "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {clusterIP: 10.0.0.1}\n";

#[test]
fn a_folder_with_many_kinds_of_files() {
    let mut folder = TestFolder::new();
    folder.write(
        "shop.yaml",
        "# the shop
%YAML 1.1
---
apiVersion: v1
kind: Namespace
metadata:
  name: shop
--- # and its front
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 3, template: {spec: {containers: [{name: web, args: [\"--a\"]}]}}}
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  labels: &labels
    app: web # shared
    tier: front
spec:
  selector: *labels
  ports:
  - name: http
    port: 80
    targetPort: web
---
# nothing here

---
apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data:
  index.html: |
    --- not a document
    <html>
---
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: other}
",
    );
    folder.write(
        "more/db.yml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec:\n  clusterIP: None\n  ports:\n",
    );
    folder.write(
        "more/slices.json",
        r#"{"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
             "metadata": {"name": "db-1", "labels": {"kubernetes.io/service-name": "db"}},
             "endpoints": [{"addresses": ["10.1.0.1"]}], "ports": [{"port": 5432}]},
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password"}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "job"},
             "status": {"phase": "Succeeded", "podIP": "10.1.0.9"}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0"},
             "status": {"phase": "Running", "podIP": "10.1.0.1"}},
            {"apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceImport",
             "metadata": {"name": "db", "namespace": "fleet"}, "spec": {"type": "ClusterSetIP", "ips": ["10.9.0.1"]}}
        ]}"#,
    );
    folder.write(
        "list.yaml",
        "apiVersion: v1\nkind: ServiceList\nitems:\n- metadata: {name: cart, namespace: shop}\n  spec: {clusterIP: 10.0.0.7}\n",
    );
    folder.write("values.yaml", "replicas: 3\nimage: {tag: v1}\n");
    folder.write("empty.yaml", "");
    folder.write("README.md", "# no manifest");
    folder.write(".hidden.yaml", WEB);
    folder.write("..data/web.yaml", WEB);
    folder.write("deep/er/web.yaml", WEB);
    let known = [
        "Namespace shop",
        "Namespace default",
        "Namespace fleet",
        "Service shop/cart [10.0.0.7]",
        "Service default/db None",
        "Service shop/web []",
        "EndpointSlice default/db-1 1",
        "Pod default/db-0 [10.1.0.1]",
        "ServiceImport fleet/db [10.9.0.1]",
    ];
    folder.check(true, &known, &[]);
    folder.check(false, &known, &[]);
}

#[test]
fn files_are_added_changed_and_removed() {
    let mut folder = TestFolder::new();
    folder.check(true, &[], &[]);
    folder.write("web.yaml", WEB);
    folder.check(true, &["Namespace shop", "Service shop/web [10.0.0.1]"], &[]);
    folder.write("web.yaml", &WEB.replace("10.0.0.1", "10.0.0.2"));
    folder.check(true, &["Namespace shop", "Service shop/web [10.0.0.2]"], &[]);
    folder.write("db.yaml", &WEB.replace("web", "db").replace("10.0.0.1", "None"));
    folder.check(true, &["Namespace shop", "Service shop/db None", "Service shop/web [10.0.0.2]"], &[]);
    fs::remove_file(folder.dir.path().join("web.yaml")).unwrap();
    folder.check(true, &["Namespace shop", "Service shop/db None"], &[]);
    folder.check(false, &["Namespace shop", "Service shop/db None"], &[]);
}

#[test]
fn a_changed_link_is_a_change() {
    let mut folder = TestFolder::new();
    let path = |name: &str| folder.dir.path().join(name);
    folder.write("..one/web.yaml", WEB);
    folder.write("..two/web.yaml", &WEB.replace("10.0.0.1", "10.0.0.2"));
    std::os::unix::fs::symlink("..one", path("..data")).unwrap();
    std::os::unix::fs::symlink("..data/web.yaml", path("web.yaml")).unwrap();
    folder.check(true, &["Namespace shop", "Service shop/web [10.0.0.1]"], &[]);
    let path = |name: &str| folder.dir.path().join(name);
    std::os::unix::fs::symlink("..two", path("..tmp")).unwrap();
    fs::rename(path("..tmp"), path("..data")).unwrap();
    folder.check(true, &["Namespace shop", "Service shop/web [10.0.0.2]"], &[]);
}

#[test]
fn a_file_with_an_error_keeps_its_objects() {
    let good = ["Namespace shop", "Service shop/web [10.0.0.1]"];
    let check = |file: &str, text: &str, problem: &str| {
        let mut folder = TestFolder::new();
        let first = if file.ends_with("json") {
            r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"clusterIP": "10.0.0.1"}}"#
        } else {
            WEB
        };
        folder.write(file, first);
        folder.check(true, &good, &[]);
        folder.write(file, text);
        folder.check(false, &good, &[problem]);
        // Logged once.
        folder.check(false, &good, &[]);
    };
    let second = |text: &str| format!("{WEB}---\n{text}");
    check("web.yaml", &second("kind: [Service\nmetadata: {}\n"), "web.yaml: document 2: ");
    check("web.yaml", &second("kind: [Service\nmetadata: {}\n"), "line 7");
    check("web.yaml", &second("apiVersion: v1\nkind: Service\nspec: {ports: {}}\n"), "document 2: Service: ");
    check("web.yaml", &second("apiVersion: v1\nkind: Service\nspec: {ports: {}}\n"), "line 8");
    check(
        "web.yaml",
        &second("apiVersion: v1\nkind: Service\nspec: {}\n"),
        "Service: metadata.name is missing",
    );
    check(
        "web.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: Web}",
        "web.yaml: document 1: Pod: metadata.name: expected at most 253 lower-case letters, digits, '-' and '.', got \"Web\"",
    );
    check(
        "web.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- {}\n- apiVersion: v1\n  kind: Service\n  spec: {clusterIPs: 4}\n",
        "document 1: item 2 in line 5: Service: ",
    );
    check("web.json", "{\"kind\":\n \"Service\",,", "web.json: document 1: ");
    check("web.json", "{\"kind\":\n \"Service\",,", "line 2");
}

#[test]
fn a_file_that_was_never_valid_has_its_valid_documents() {
    let mut folder = TestFolder::new();
    folder.write("web.yaml", &format!("{{{{ .Values }}}}\nx\n---\n{WEB}"));
    folder.check(true, &["Namespace shop", "Service shop/web [10.0.0.1]"], &["web.yaml: document 1: "]);
    folder.write("web.yaml", &format!("{{{{ .Values }}}}\nx\n---\n{}", WEB.replace("web", "cart")));
    folder.check(false, &["Namespace shop", "Service shop/web [10.0.0.1]"], &["web.yaml: document 1: "]);
    folder.write("web.yaml", WEB);
    folder.check(true, &["Namespace shop", "Service shop/web [10.0.0.1]"], &[]);
}

#[test]
fn an_object_in_two_files_is_logged_once() {
    let mut folder = TestFolder::new();
    folder.write("a.yaml", WEB);
    folder.write("b.yaml", &WEB.replace("10.0.0.1", "10.0.0.2"));
    let both = ["Namespace shop", "Service shop/web [10.0.0.1]", "Service shop/web [10.0.0.2]"];
    folder.check(true, &both, &["b.yaml: Service shop/web is also in"]);
    folder.write("c.yaml", "");
    folder.check(true, &both, &[]);
}

#[test]
fn a_folder_that_disappears_keeps_its_objects() {
    let mut folder = TestFolder::new();
    folder.write("web.yaml", WEB);
    folder.scan();
    let moved = folder.dir.path().with_extension("moved");
    fs::rename(folder.dir.path(), &moved).unwrap();
    let (scanned, scan) = folder.folder.take().unwrap().scan();
    assert!(scan.is_err());
    folder.folder = Some(scanned);
    assert_eq!(folder.known(), ["Namespace shop", "Service shop/web [10.0.0.1]"]);
    fs::rename(&moved, folder.dir.path()).unwrap();
    folder.check(false, &["Namespace shop", "Service shop/web [10.0.0.1]"], &[]);
}
