//! Reads an OCI image archive (image-spec 1.0) and checks every digest and size.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};
use tempfile::TempDir;
use testkit::cluster::objects::{list, text};

pub struct Image {
    pub config: Value,
    /// Its name in a runtime.
    pub name: String,
    archive: PathBuf,
    layer: PathBuf,
    folder: TempDir,
}

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

impl Image {
    pub fn read(archive: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = folder.path().join("layout");
        std::fs::create_dir(&layout).unwrap();
        run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&layout));

        assert_eq!(text(&json(&layout.join("oci-layout")), "/imageLayoutVersion"), "1.0.0");
        let index = json(&layout.join("index.json"));
        assert_eq!((&index["schemaVersion"], text(&index, "/mediaType")), (&Value::from(2), INDEX));
        let [entry] = list(&index, "/manifests") else { panic!("not one manifest: {index}") };
        let manifest_blob = blob(&layout, entry, MANIFEST);
        let manifest = json(&manifest_blob);
        assert_eq!((&manifest["schemaVersion"], text(&manifest, "/mediaType")), (&Value::from(2), MANIFEST));
        let config_blob = blob(&layout, &manifest["config"], CONFIG);
        let config = json(&config_blob);
        let [layer] = list(&manifest, "/layers") else { panic!("not one layer: {manifest}") };
        let layer = blob(&layout, layer, LAYER);

        for field in ["/architecture", "/os"] {
            assert_eq!(text(entry, &format!("/platform{field}")), text(&config, field));
        }
        assert_eq!(text(&config, "/rootfs/type"), "layers");
        let unpacked = folder.path().join("layer.tar");
        std::fs::write(&unpacked, run(Command::new("gzip").arg("-dc").arg(&layer))).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"], serde_json::json!([digest(&unpacked)]));

        let mut blobs: Vec<PathBuf> = std::fs::read_dir(layout.join("blobs/sha256"))
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        let mut named = [manifest_blob, config_blob.clone(), layer.clone()];
        blobs.sort();
        named.sort();
        assert_eq!(blobs, named, "blobs that nobody names");

        let name = entry["annotations"]["io.containerd.image.name"].as_str().unwrap().to_owned();
        let tag = entry["annotations"]["org.opencontainers.image.ref.name"].as_str().unwrap();
        assert!(name.ends_with(&format!(":{tag}")), "{name}, but {tag}");
        // For tools that read the format of `docker save`.
        let docker = json(&layout.join("manifest.json"));
        for (field, expected) in [
            ("/0/Config", config_blob.strip_prefix(&layout).unwrap().to_str().unwrap()),
            ("/0/Layers/0", layer.strip_prefix(&layout).unwrap().to_str().unwrap()),
            ("/0/RepoTags/0", &name),
        ] {
            assert_eq!(text(&docker, field), expected);
        }
        Self { config, name, archive: archive.to_owned(), layer, folder }
    }

    pub fn archive(&self) -> &Path {
        &self.archive
    }

    pub fn object(&self, field: &str) -> &Map<String, Value> {
        self.config.pointer(field).and_then(Value::as_object).unwrap()
    }

    /// The words in a list of the configuration.
    pub fn words(&self, field: &str) -> Vec<&str> {
        list(&self.config, field).iter().map(|word| text(word, "")).collect()
    }

    /// Mode, owner and name of everything in the layer.
    pub fn members(&self) -> Vec<String> {
        let listed = run(Command::new("tar").args(["-tvzf"]).arg(&self.layer).arg("--numeric-owner"));
        let listed = String::from_utf8(listed).unwrap();
        let row = |line: &str| {
            let mut words = line.split_whitespace();
            let (mode, owner) = (words.next().unwrap(), words.next().unwrap());
            // Without size, date and time.
            format!("{mode} {owner} {}", words.skip(3).collect::<Vec<_>>().join(" "))
        };
        listed.lines().map(row).collect()
    }

    /// Its creation time, which all its files have too, in seconds since 1970.
    pub fn epoch(&self) -> String {
        let date = ["-u", "+%s", "-d", text(&self.config, "/created")];
        let epoch = String::from_utf8(run(Command::new("date").args(date))).unwrap().trim().to_owned();
        let time = run(Command::new("tar").args(["-tvzf"]).arg(&self.layer).args(["--full-time", "--utc"]));
        let created = text(&self.config, "/created").replace('T', " ").replace('Z', "");
        for line in String::from_utf8(time).unwrap().lines() {
            assert!(line.contains(&created), "not of {created}: {line}");
        }
        epoch
    }

    /// Unpacks it into a new root file system, with file capabilities if permitted.
    pub fn unpack(&self) -> PathBuf {
        let place = tempfile::Builder::new().prefix("root").tempdir_in(self.folder.path()).unwrap();
        // A subfolder, because the temporary folder itself is closed to other users.
        let root = place.keep().join("root");
        std::fs::create_dir(&root).unwrap();
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&self.layer).arg("-C").arg(&root);
        if rustix::process::geteuid().is_root() {
            tar.args(["--same-owner", "--numeric-owner", "--xattrs", "--xattrs-include=security.capability"]);
        }
        run(tar.arg("--preserve-permissions"));
        root
    }
}

/// The blob of a descriptor, after checking it.
fn blob(layout: &Path, descriptor: &Value, media_type: &str) -> PathBuf {
    assert_eq!(text(descriptor, "/mediaType"), media_type, "{descriptor}");
    let named = text(descriptor, "/digest");
    let path = layout.join("blobs").join(named.replace(':', "/"));
    let size = path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).len();
    assert_eq!((&descriptor["size"], named), (&Value::from(size), digest(&path).as_str()));
    path
}

/// By coreutils, since an unoptimised build takes seconds per image.
fn digest(file: &Path) -> String {
    let sum = String::from_utf8(run(Command::new("sha256sum").arg(file))).unwrap();
    format!("sha256:{}", sum.split(' ').next().unwrap())
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The output of a command that must succeed.
fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
