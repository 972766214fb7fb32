//! Hostile folders and manifests; all other objects are served.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{TestFolder, WEB};
use crate::manifests::folder::Bounds;

const GOOD: [&str; 2] = ["Namespace shop", "Service shop/web [10.0.0.1]"];
const BOTH: [&str; 3] = ["Namespace shop", "Service shop/cart [10.0.0.1]", "Service shop/web [10.0.0.1]"];

/// Time limit of a scan; one that blocks on a FIFO or a device would never end.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn files_that_are_no_manifests_are_skipped() {
    type Make = fn(&Path);
    let no_file = "bad.yaml: skipped: not a regular file";
    let cases: [(&str, Make, &str); 9] = [
        ("a FIFO", |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap(), no_file),
        ("a device", |path| symlink("/dev/zero", path).unwrap(), no_file),
        ("a socket", |path| drop(UnixListener::bind(path).unwrap()), no_file),
        ("a folder", |path| fs::create_dir(path).unwrap(), no_file),
        (
            "a dangling link",
            |path| symlink("nothing", path).unwrap(),
            "bad.yaml: skipped: dangling symbolic link",
        ),
        (
            "a link to itself",
            |path| symlink(path, path).unwrap(),
            "bad.yaml: skipped: Too many levels of symbolic links",
        ),
        (
            "a large file",
            |path| File::create(path).unwrap().set_len(1 << 30).unwrap(),
            "bad.yaml: skipped: larger than 32 MiB",
        ),
        (
            "a file that cannot be read",
            |path| symlink("/proc/self/mem", path).unwrap(),
            "bad.yaml: skipped: Input/output error",
        ),
        ("no text", |path| fs::write(path, b"\xff\xfe").unwrap(), "bad.yaml: not UTF-8 text"),
    ];
    for (name, make, problem) in cases {
        println!("{name}");
        let began = Instant::now();
        let mut folder = TestFolder::new();
        let bad = folder.dir.path().join("more/bad.yaml");
        folder.write("web.yaml", WEB);
        folder.write("more/empty.yaml", "");
        make(&bad);
        folder.check(true, &GOOD, &[problem]);
        folder.check(false, &GOOD, &[]);
        // A path that was a manifest before keeps its objects, and may become one again.
        fs::remove_file(&bad).or_else(|_| fs::remove_dir(&bad)).unwrap();
        folder.write("more/bad.yaml", &WEB.replace("web", "cart"));
        folder.check(true, &BOTH, &[]);
        fs::remove_file(&bad).unwrap();
        make(&bad);
        folder.check(false, &BOTH, &[problem]);
        folder.check(false, &BOTH, &[]);
        fs::remove_file(&bad).or_else(|_| fs::remove_dir(&bad)).unwrap();
        folder.check(true, &GOOD, &[]);
        assert!(began.elapsed() < SOON);
    }
}

#[test]
fn files_beyond_the_limits_are_skipped() {
    let size = WEB.len() as u64;
    let mut folder = TestFolder::with(Bounds { file: size, total: 2 * size, entries: 4 });
    for name in ["db", "web"] {
        folder.write(&format!("{name}.yaml"), &WEB.replace("web", name));
    }
    let two = ["Namespace shop", "Service shop/db [10.0.0.1]", "Service shop/web [10.0.0.1]"];
    folder.check(true, &two, &[]);
    folder.write("zoo.yaml", WEB);
    folder.check(
        false,
        &two,
        &[&format!(
            "zoo.yaml: skipped: this and the files before it are larger than {} bytes together",
            2 * size
        )],
    );
    // It is read as soon as the limit allows.
    folder.write("db.yaml", "");
    let three = ["Namespace shop", "Service shop/web [10.0.0.1]", "Service shop/web [10.0.0.1]"];
    folder.check(true, &three, &["is also in"]);
    folder.write("web.yaml", &format!("{WEB}#"));
    folder.check(false, &three, &[&format!("web.yaml: skipped: larger than {size} bytes")]);
    // Files beyond the limit of entries keep their objects.
    (0..9).for_each(|n| folder.write(&format!(".{n}"), ""));
    let scan = folder.scan();
    assert_eq!((scan.changed, scan.problems.len()), (false, 1), "{:?}", scan.problems);
    assert!(scan.problems[0].ends_with(": skipped: too many entries, the rest is ignored"));
    assert_eq!(folder.known(), three);
    assert_eq!(folder.scan().problems, [""; 0], "logged once");
}

/// Small texts that expand to many or deeply nested nodes.
#[test]
fn texts_that_expand_beyond_limits_are_errors() {
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
        let mut folder = TestFolder::new();
        folder.write("web.yaml", WEB);
        folder.write(file, &text);
        folder.check(true, &GOOD, &[&format!("{file}: document 1: ")]);
        assert!(began.elapsed() < SOON, "{name}");
    }
}

/// An anchor with many aliases is common.
#[test]
fn an_anchor_with_many_aliases_is_accepted() {
    let mut folder = TestFolder::new();
    let items: String = (0..500)
        .map(|n| format!("- metadata: {{name: s{n}, namespace: shop, labels: *labels}}\n  spec: {{clusterIP: 10.0.0.1}}\n"))
        .collect();
    folder.write(
        "a.yaml",
        &format!("apiVersion: v1\nkind: ServiceList\nx: &labels {{a: b, c: d}}\nitems:\n{items}"),
    );
    let scan = folder.scan();
    assert_eq!((scan.problems, folder.known().len()), (Vec::new(), 501));
}

#[test]
fn the_number_of_logged_problems_is_limited() {
    let mut folder = TestFolder::new();
    folder.write("web.yaml", WEB);
    folder.write("bad.yaml", &"---\nkind: [\n".repeat(1000));
    let scan = folder.scan();
    assert_eq!((scan.problems.len(), folder.known()), (10, GOOD.map(str::to_owned).to_vec()));
}

/// They disappear between the listing of the folder and the read of the file.
#[test]
fn files_that_disappear_during_a_scan_are_no_problem() {
    let mut folder = TestFolder::new();
    folder.write("web.yaml", WEB);
    folder.scan();
    let path = folder.dir.path().join("fleeting.yaml");
    let (stop, stopped) = mpsc::channel::<()>();
    let fleeting = thread::spawn(move || {
        while stopped.try_recv() == Err(TryRecvError::Empty) {
            let there = fs::write(&path, WEB.replace("web", "fleeting"));
            there.and_then(|()| fs::remove_file(&path)).unwrap();
        }
    });
    for _ in 0..2000 {
        let scan = folder.scan();
        assert_eq!(scan.problems, [""; 0]);
        assert!(folder.known().iter().any(|it| it == GOOD[1]));
    }
    drop(stop);
    fleeting.join().unwrap();
    folder.scan();
    assert_eq!(folder.known(), GOOD);
}

#[test]
fn an_object_that_panics_is_skipped_alone() {
    let mut folder = TestFolder::new();
    let bad = WEB.replace("web", "bad").replace("10.0.0.1", crate::poison::IN_CONVERT);
    folder.write("web.yaml", &format!("{bad}---\n{WEB}"));
    folder.check(true, &GOOD, &["web.yaml: Service bad: panic at "]);
    folder.check(false, &GOOD, &[]);
    folder.write("web.yaml", &bad);
    folder.check(false, &GOOD, &["web.yaml: Service bad: panic at "]);
}
