//! A TCP proxy that damages the replies of one connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Flips a bit in the middle of the message with this number, from 1.
    Flip(usize),
    /// Closes the connection in the middle of it.
    Cut(usize),
    /// Closes the connection before it.
    Close(usize),
}

/// Starts a proxy to `server` for one connection.
pub fn start(server: SocketAddr, fault: Fault) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(server).unwrap();
        let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
        let _ = relay(server, client, fault);
    });
    addr
}

fn relay(mut server: TcpStream, mut client: TcpStream, fault: Fault) -> std::io::Result<()> {
    for number in 1.. {
        let mut frame = vec![0; 2];
        server.read_exact(&mut frame)?;
        frame.resize(2 + usize::from(u16::from_be_bytes([frame[0], frame[1]])), 0);
        server.read_exact(&mut frame[2..])?;
        let middle = frame.len() / 2;
        match fault {
            Fault::Flip(at) if at == number => frame[middle] ^= 1,
            Fault::Cut(at) if at == number => frame.truncate(middle),
            Fault::Close(at) if at == number => return client.shutdown(std::net::Shutdown::Both),
            _ => {}
        }
        client.write_all(&frame)?;
        if matches!(fault, Fault::Cut(at) if at == number) {
            return client.shutdown(std::net::Shutdown::Both);
        }
    }
    Ok(())
}
