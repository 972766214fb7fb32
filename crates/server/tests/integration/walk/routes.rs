//! HTTP routes: methods, query strings and bodies.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::PoisonError;
use std::time::Duration;

use server::Server;

use super::{ONE_AT_A_TIME, build};

/// The status line, the `Allow` header and the body of the answer.
fn send(addr: SocketAddr, request: &str) -> (String, String, String) {
    let mut stream = TcpStream::connect(addr).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    // A connection that is closed before the whole body is read may be reset after the answer.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let allow = head.lines().find_map(|line| line.strip_prefix("allow: ")).unwrap_or_default();
    (head.lines().next().unwrap_or_default().to_owned(), allow.to_owned(), body.to_owned())
}

#[test]
fn routes_take_methods_and_bodies() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let http = testkit::ports::free_addr().expect("a free port");
    let text = format!(".:0 {{\nbind_loopback\npage {http}\ndata now\n}}\n");
    let server = Server::start(build(&text)).expect("it starts");
    // /page takes any method and no body; /echo POST and PUT, with bodies up to 8 octets.
    let cases = [
        ("GET /page", "", "200 OK", "", "a page"),
        ("POST /page", "content-length: 3\r\n\r\nabc", "200 OK", "", "a page"),
        ("POST /echo?a=b", "content-length: 3\r\n\r\nabc", "200 OK", "", "a=b abc"),
        ("PUT /echo", "content-length: 8\r\n\r\nabcdefgh", "200 OK", "", " abcdefgh"),
        ("POST /echo", "content-length: 0\r\n\r\n", "200 OK", "", " "),
        ("POST /echo", "transfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "200 OK", "", " ab"),
        ("GET /echo", "", "405 Method Not Allowed", "POST, PUT", "Method Not Allowed\n"),
        (
            "POST /echo",
            "content-length: 9\r\n\r\nabcdefghi",
            "413 Payload Too Large",
            "",
            "Payload Too Large\n",
        ),
        (
            "POST /echo",
            "transfer-encoding: chunked\r\n\r\n9\r\nabcdefghi\r\n0\r\n\r\n",
            "413 Payload Too Large",
            "",
            "Payload Too Large\n",
        ),
        ("POST /echo", "content-length: 8\r\n\r\nabc", "408 Request Timeout", "", "Request Timeout\n"),
        ("GET /nothing", "", "404 Not Found", "", "404 page not found\n"),
    ];
    for (line, rest, status, allow, body) in cases {
        let rest = if rest.is_empty() { "\r\n" } else { rest };
        let request = format!("{line} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{rest}");
        let expected = (format!("HTTP/1.1 {status}"), allow.to_owned(), body.to_owned());
        assert_eq!(send(http, &request), expected, "{line} {rest:?}");
    }
    assert!(server.stop());
}
