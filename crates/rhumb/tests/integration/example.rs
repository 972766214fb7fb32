//! `rhumb example`: it serves, prints the `dig` lines to try, answers them, and stops on a signal.

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use wire::{NameBuf, Query, Reply, Rtype};

/// Killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(args: &[&str]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhumb"));
    command.arg("example").args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running(command.spawn().unwrap())
}

/// Reads the printed instructions up to their last line; returns the port they name and the reader.
fn port(running: &mut Running) -> (u16, impl BufRead + use<>) {
    let mut reader = BufReader::new(running.0.stdout.take().unwrap());
    let mut port = None;
    loop {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the example ended early");
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["dig", "@127.0.0.1", "-p", number, ..] = words[..] {
            port = number.parse().ok();
        }
        if line.contains("logged here") {
            return (port.unwrap(), reader);
        }
    }
}

fn ask(port: u16, name: &str, rtype: Rtype) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let query = Query::ask(NameBuf::parse(name).unwrap().as_name(), rtype);
    socket.send_to(&query.to_packet(), ("127.0.0.1", port)).unwrap();
    let mut packet = [0; 1500];
    let length = socket.recv(&mut packet).unwrap();
    let mut reply = Reply::new();
    let (_, question) = reply.decode(&packet[..length]).unwrap();
    reply.present(&question)
}

#[test]
fn serves_and_stops() {
    let mut running = start(&["--port", "0"]);
    let (port, mut rest) = port(&mut running);
    assert_eq!(
        ask(port, "www.shop.example", Rtype::A),
        "NOERROR qr,aa,rd\nanswer: www.shop.example. 60 IN A 192.0.2.10\n"
    );
    let web = "web.shop.svc.cluster.local";
    assert_eq!(ask(port, web, Rtype::A), format!("NOERROR qr,aa,rd\nanswer: {web}. 30 IN A 10.96.0.10\n"));
    assert!(ask(port, "whoami.example", Rtype::A).contains("additional: whoami.example. 0 IN A 127.0.0.1"));

    // The port is in use: a second example reports it, and what to do.
    let other = start(&["--port", &port.to_string()]);
    let mut text = String::new();
    let mut other = other;
    other.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(!other.0.wait().unwrap().success());
    assert!(text.contains("in use") && text.contains("rhumb example --port 0"), "{text}");

    let id = running.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(running.0.wait().unwrap().success());
    let mut log = String::new();
    rest.read_to_string(&mut log).unwrap();
    assert!(log.contains("\"A IN www.shop.example. udp "), "{log}");
}
