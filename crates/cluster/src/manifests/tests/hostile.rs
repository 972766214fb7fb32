//! What may be in a folder besides manifests, and what may be in a manifest besides objects. The rest is served.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Looked, WEB};
use crate::manifests::folder::Bounds;

const GOOD: [&str; 2] = ["Namespace shop", "Service shop/web [10.0.0.1]"];
const BOTH: [&str; 3] = ["Namespace shop", "Service shop/cart [10.0.0.1]", "Service shop/web [10.0.0.1]"];

/// Time limit of a scan; one that blocks on a FIFO or a device would never end.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn what_is_not_a_manifest() {
    type Make = fn(&Path);
    let no_file = "bad.yaml: skipped, it is not a regular file";
    let cases: [(&str, Make, &str); 9] = [
        ("a FIFO", |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap(), no_file),
        ("a device", |path| symlink("/dev/zero", path).unwrap(), no_file),
        ("a socket", |path| drop(UnixListener::bind(path).unwrap()), no_file),
        ("a folder", |path| fs::create_dir(path).unwrap(), no_file),
        (
            "a link to nothing",
            |path| symlink("nothing", path).unwrap(),
            "bad.yaml: skipped, it is a link to nothing",
        ),
        (
            "a link to itself",
            |path| symlink(path, path).unwrap(),
            "bad.yaml: skipped, Too many levels of symbolic links",
        ),
        (
            "a large file",
            |path| File::create(path).unwrap().set_len(1 << 30).unwrap(),
            "bad.yaml: skipped, it is larger than 32 MiB",
        ),
        (
            "a file that cannot be read",
            |path| symlink("/proc/self/mem", path).unwrap(),
            "bad.yaml: skipped, Input/output error",
        ),
        ("no text", |path| fs::write(path, b"\xff\xfe").unwrap(), "bad.yaml: is not UTF-8 text"),
    ];
    for (name, make, problem) in cases {
        println!("{name}");
        let began = Instant::now();
        let mut looked = Looked::new();
        let bad = looked.dir.path().join("more/bad.yaml");
        looked.write("web.yaml", WEB);
        looked.write("more/empty.yaml", "");
        make(&bad);
        looked.check(true, &GOOD, &[problem]);
        looked.check(false, &GOOD, &[]);
        // What was a manifest before keeps its objects, and may become one again.
        fs::remove_file(&bad).or_else(|_| fs::remove_dir(&bad)).unwrap();
        looked.write("more/bad.yaml", &WEB.replace("web", "cart"));
        looked.check(true, &BOTH, &[]);
        fs::remove_file(&bad).unwrap();
        make(&bad);
        looked.check(false, &BOTH, &[problem]);
        looked.check(false, &BOTH, &[]);
        fs::remove_file(&bad).or_else(|_| fs::remove_dir(&bad)).unwrap();
        looked.check(true, &GOOD, &[]);
        assert!(began.elapsed() < SOON);
    }
}

#[test]
fn more_than_a_folder_may_hold() {
    let size = WEB.len() as u64;
    let mut looked = Looked::with(Bounds { file: size, total: 2 * size, entries: 4 });
    for name in ["db", "web"] {
        looked.write(&format!("{name}.yaml"), &WEB.replace("web", name));
    }
    let two = ["Namespace shop", "Service shop/db [10.0.0.1]", "Service shop/web [10.0.0.1]"];
    looked.check(true, &two, &[]);
    looked.write("zoo.yaml", WEB);
    looked.check(
        false,
        &two,
        &[&format!("zoo.yaml: skipped, it and those before it are larger than {} bytes", 2 * size)],
    );
    // As soon as there is room it is read.
    looked.write("db.yaml", "");
    let three = ["Namespace shop", "Service shop/web [10.0.0.1]", "Service shop/web [10.0.0.1]"];
    looked.check(true, &three, &["is in"]);
    looked.write("web.yaml", &format!("{WEB}#"));
    looked.check(false, &three, &[&format!("web.yaml: skipped, it is larger than {size} bytes")]);
    // Files beyond the limit of entries keep their objects.
    (0..9).for_each(|n| looked.write(&format!(".{n}"), ""));
    let scan = looked.look();
    assert_eq!((scan.changed, scan.problems.len()), (false, 1), "{:?}", scan.problems);
    assert!(
        scan.problems[0].ends_with(": skipped, it has too many entries; the rest of it is not looked at")
    );
    assert_eq!(looked.known(), three);
    assert_eq!(looked.look().problems, [""; 0], "told once");
}

/// Small texts that would become large, or deep.
#[test]
fn texts_that_explode() {
    let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for n in 1..12 {
        let before = format!("*a{}, ", n - 1).repeat(9);
        laughs += &format!("a{n}: &a{n} [{}]\n", before.trim_end_matches(", "));
    }
    let deep_block: String = (0..5000).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    let wide = format!("labels: &l {{a: b, c: d}}\nall: [{}]\n", "*l, ".repeat(200_000));
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: shop}\n";
    let cases: [(&str, &str, String); 6] = [
        ("laughs", "bad.yaml", format!("{service}{laughs}")),
        ("laughs in a list", "bad.yaml", format!("apiVersion: v1\nkind: List\n{laughs}items: [*a11]\n")),
        ("brackets", "bad.yaml", format!("{service}x: {}\n", "[".repeat(100_000))),
        ("indentation", "bad.yaml", format!("{service}x:\n{}", deep_block.replace("a:", " a:"))),
        ("aliases", "bad.yaml", format!("{service}{wide}")),
        ("JSON brackets", "bad.json", format!("{{\"kind\": \"Service\", \"x\": {}", "[".repeat(100_000))),
    ];
    for (name, file, text) in cases {
        println!("{name}");
        let began = Instant::now();
        let mut looked = Looked::new();
        looked.write("web.yaml", WEB);
        looked.write(file, &text);
        looked.check(true, &GOOD, &[&format!("{file}: document 1: ")]);
        assert!(began.elapsed() < SOON, "{name}");
    }
}

/// An anchor that many use is common.
#[test]
fn anchors_are_fine() {
    let mut looked = Looked::new();
    let items: String = (0..500)
        .map(|n| format!("- metadata: {{name: s{n}, namespace: shop, labels: *labels}}\n  spec: {{clusterIP: 10.0.0.1}}\n"))
        .collect();
    looked.write(
        "a.yaml",
        &format!("apiVersion: v1\nkind: ServiceList\nx: &labels {{a: b, c: d}}\nitems:\n{items}"),
    );
    let scan = looked.look();
    assert_eq!((scan.problems, looked.known().len()), (Vec::new(), 501));
}

#[test]
fn mistakes_without_number() {
    let mut looked = Looked::new();
    looked.write("web.yaml", WEB);
    looked.write("bad.yaml", &"---\nkind: [\n".repeat(1000));
    let scan = looked.look();
    assert_eq!((scan.problems.len(), looked.known()), (10, GOOD.map(str::to_owned).to_vec()));
}

/// They come and go between the reading of the folder and that of the file.
#[test]
fn files_that_vanish() {
    let mut looked = Looked::new();
    looked.write("web.yaml", WEB);
    looked.look();
    let path = looked.dir.path().join("fleeting.yaml");
    let (stop, stopped) = mpsc::channel::<()>();
    let fleeting = thread::spawn(move || {
        while stopped.try_recv() == Err(TryRecvError::Empty) {
            let there = fs::write(&path, WEB.replace("web", "fleeting"));
            there.and_then(|()| fs::remove_file(&path)).unwrap();
        }
    });
    for _ in 0..2000 {
        let scan = looked.look();
        assert_eq!(scan.problems, [""; 0]);
        assert!(looked.known().iter().any(|it| it == GOOD[1]));
    }
    drop(stop);
    fleeting.join().unwrap();
    looked.look();
    assert_eq!(looked.known(), GOOD);
}

#[test]
fn an_object_that_panics_costs_itself() {
    let mut looked = Looked::new();
    let bad = WEB.replace("web", "bad").replace("10.0.0.1", crate::poison::IN_CONVERT);
    looked.write("web.yaml", &format!("{bad}---\n{WEB}"));
    looked.check(true, &GOOD, &["web.yaml: Service bad: panic at "]);
    looked.check(false, &GOOD, &[]);
    looked.write("web.yaml", &bad);
    looked.check(false, &GOOD, &["web.yaml: Service bad: panic at "]);
}
