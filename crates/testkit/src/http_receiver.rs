//! An HTTP server that takes whatever is posted to it and keeps it, as collectors of traces do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::error::{Context, Error, Result};

/// One request.
#[derive(Clone, Debug)]
pub struct Posted {
    pub path: String,
    pub content_type: String,
    pub body: Vec<u8>,
}

/// A fake collector on a free port of loopback; it answers 202 to everything and ends when dropped.
pub struct HttpReceiver {
    addr: SocketAddr,
    posted: Arc<Mutex<Vec<Posted>>>,
    ended: Arc<AtomicBool>,
}

impl HttpReceiver {
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("an HTTP receiver")?;
        let addr = listener.local_addr()?;
        let posted = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::new(AtomicBool::new(false));
        let (kept, until) = (Arc::clone(&posted), Arc::clone(&ended));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if until.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let kept = Arc::clone(&kept);
                // A connection ends with its peer; how does not matter.
                thread::spawn(move || drop(serve(&stream, &kept)));
            }
        });
        Ok(Self { addr, posted, ended })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Everything so far.
    pub fn posted(&self) -> Vec<Posted> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for HttpReceiver {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the one that accepts.
        let _ = TcpStream::connect(self.addr);
    }
}

fn serve(stream: &TcpStream, posted: &Mutex<Vec<Posted>>) -> Result<()> {
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
                    length = value.trim().parse().map_err(|_| Error::new(format!("a length of {value}")))?;
                }
                "content-type" => value.trim().clone_into(&mut content_type),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        posted.lock().unwrap_or_else(PoisonError::into_inner).push(Posted { path, content_type, body });
        let mut stream = stream;
        stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")?;
    }
}
