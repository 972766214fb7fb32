//! A fake trace collector: an HTTP server that records every request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::error::{Context, Error, Result};

/// A recorded request.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub content_type: String,
    pub body: Vec<u8>,
}

/// Listens on a free loopback port, answers 202 to everything and stops when dropped.
pub struct HttpReceiver {
    addr: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    stopped: Arc<AtomicBool>,
}

impl HttpReceiver {
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("an HTTP receiver")?;
        let addr = listener.local_addr()?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stopped = Arc::new(AtomicBool::new(false));
        let (recorded, stop) = (Arc::clone(&requests), Arc::clone(&stopped));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let recorded = Arc::clone(&recorded);
                // Errors end the connection and do not matter.
                thread::spawn(move || drop(serve(&stream, &recorded)));
            }
        });
        Ok(Self { addr, requests, stopped })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for HttpReceiver {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.addr);
    }
}

fn serve(stream: &TcpStream, requests: &Mutex<Vec<Request>>) -> Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let (mut length, mut content_type) = (0, String::new());
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    length =
                        value.trim().parse().map_err(|_| Error::new(format!("content-length: {value}")))?;
                }
                "content-type" => value.trim().clone_into(&mut content_type),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        requests.lock().unwrap_or_else(PoisonError::into_inner).push(Request { path, content_type, body });
        let mut stream = stream;
        stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")?;
    }
}
