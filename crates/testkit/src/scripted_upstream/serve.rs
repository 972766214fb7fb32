//! The threads behind a scripted upstream: one for UDP, one that accepts, one per connection.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::step::{Action, actions};
use super::{Accept, ReceivedQuery, Shared, locked};
use crate::client::Transport;
use crate::error::{Context, Result};
use crate::message::Message;

/// The open connections by peer address.
type Connections = Arc<Mutex<BTreeMap<SocketAddr, TcpStream>>>;

/// The open port. Dropping it closes the port before it returns.
pub(super) struct Running {
    addr: SocketAddr,
    stop: Arc<AtomicBool>,
    connections: Connections,
    threads: Vec<JoinHandle<()>>,
}

impl Running {
    pub(super) fn start(addr: SocketAddr, shared: &Arc<Shared>) -> Result<Self> {
        let udp = UdpSocket::bind(addr).context(format!("binding UDP {addr}"))?;
        let elsewhere = UdpSocket::bind((addr.ip(), 0)).context("binding another port")?;
        let tcp = TcpListener::bind(addr).context(format!("binding TCP {addr}"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let connections = Connections::default();
        let threads = vec![
            thread::spawn({
                let (shared, stop) = (Arc::clone(shared), Arc::clone(&stop));
                move || serve_udp(&Arc::new(udp), &Arc::new(elsewhere), &shared, &stop)
            }),
            thread::spawn({
                let (shared, stop, connections) =
                    (Arc::clone(shared), Arc::clone(&stop), Arc::clone(&connections));
                move || serve_tcp(&tcp, &shared, &stop, &connections)
            }),
        ];
        Ok(Self { addr, stop, connections, threads })
    }

    pub(super) fn close_connections(&self) {
        for stream in locked(&self.connections).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // A packet and a connection wake the blocked threads.
        if let Ok(socket) = UdpSocket::bind((self.addr.ip(), 0)) {
            let _ = socket.send_to(&[], self.addr);
        }
        let _ = TcpStream::connect(self.addr);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.close_connections();
    }
}

fn serve_udp(
    socket: &Arc<UdpSocket>,
    elsewhere: &Arc<UdpSocket>,
    shared: &Arc<Shared>,
    stop: &Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 65_535];
    while !stop.load(Ordering::SeqCst) {
        // An ICMP error for an earlier reply shows up here; the next query may be fine.
        let Ok((n, from)) = socket.recv_from(&mut buffer) else { continue };
        for action in take(shared, &buffer[..n], Transport::Udp, from) {
            let (from_socket, packet, after) = match action {
                Action::Send { packet, after, .. } => (socket, packet, after),
                Action::SendFromElsewhere { packet, after } => (elsewhere, packet, after),
                Action::Close { .. } => continue,
            };
            if after.is_zero() {
                let _ = from_socket.send_to(&packet, from);
                continue;
            }
            // Weak, so that a delayed answer does not keep a switched-off port open.
            let from_socket = Arc::downgrade(from_socket);
            shared.timer.after(after, move || {
                if let Some(socket) = from_socket.upgrade() {
                    let _ = socket.send_to(&packet, from);
                }
            });
        }
    }
}

fn serve_tcp(
    listener: &TcpListener,
    shared: &Arc<Shared>,
    stop: &Arc<AtomicBool>,
    connections: &Connections,
) {
    loop {
        let accepted = listener.accept();
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok((stream, from)) = accepted else { continue };
        let accept = shared.accept.load(Ordering::SeqCst);
        if accept == Accept::Close as u8 {
            continue;
        }
        if let Ok(copy) = stream.try_clone() {
            locked(connections).insert(from, copy);
        }
        let (shared, connections) = (Arc::clone(shared), Arc::clone(connections));
        thread::spawn(move || {
            let _ = serve_connection(&stream, from, &shared, accept == Accept::CloseAfterAnswer as u8);
            locked(&connections).remove(&from);
        });
    }
}

fn serve_connection(
    mut stream: &TcpStream,
    from: SocketAddr,
    shared: &Shared,
    once: bool,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut query)?;
        let arrived = Instant::now();
        for action in take(shared, &query, Transport::Tcp, from) {
            match action {
                Action::Send { packet, after, drip } => {
                    sleep_until(arrived + after);
                    let mut framed = (packet.len() as u16).to_be_bytes().to_vec();
                    framed.extend(packet);
                    let Some(pause) = drip else {
                        stream.write_all(&framed)?;
                        continue;
                    };
                    for octet in framed {
                        stream.write_all(&[octet])?;
                        thread::sleep(pause);
                    }
                }
                Action::SendFromElsewhere { .. } => {}
                Action::Close { after } => {
                    sleep_until(arrived + after);
                    return Ok(());
                }
            }
        }
        if once {
            return Ok(());
        }
    }
}

fn sleep_until(when: Instant) {
    let pause = when.saturating_duration_since(Instant::now());
    if pause > Duration::ZERO {
        thread::sleep(pause);
    }
}

/// Records the query and returns the actions for it. Invalid packets are neither recorded nor answered.
fn take(shared: &Shared, packet: &[u8], transport: Transport, from: SocketAddr) -> Vec<Action> {
    let query = Message::decode(packet);
    let Some(question) = query.questions.first() else { return Vec::new() };
    let name = question.name.to_string();
    let silent = shared.silent.load(Ordering::SeqCst);
    // While silenced, queries do not advance the script.
    let step = (!silent).then(|| shared.step_for(&name));
    let (at, qtype, id) = (Instant::now(), question.qtype, query.id);
    shared.record(ReceivedQuery { name, qtype, id, transport, from, at, packet: packet.to_vec() });
    step.map(|step| actions(&step, &query, transport)).unwrap_or_default()
}
