//! A small blocking client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use wire::{Flags, NameBuf, Query, Rcode, Reply, Rtype, Section};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Udp,
    Tcp,
}

pub struct Answer {
    pub rcode: Rcode,
    pub question: String,
    pub truncated: bool,
    pub len: usize,
    reply: Reply,
    name: NameBuf,
}

impl Answer {
    pub fn decode(bytes: &[u8]) -> Answer {
        let mut reply = Reply::new();
        let (_, question) = reply.decode(bytes).expect("a well-formed reply");
        Answer {
            rcode: reply.rcode,
            question: format!("{} {}", question.name(), question.qtype),
            truncated: reply.flags.has(Flags::TC),
            len: bytes.len(),
            name: question.name().to_buf(),
            reply,
        }
    }

    pub fn records(&self, section: &str) -> Vec<String> {
        let section = match section {
            "answer" => Section::Answer,
            "authority" => Section::Authority,
            _ => Section::Additional,
        };
        let records = self.reply.section(section).iter();
        records.map(|record| self.reply.present_record(record, self.name.as_name())).collect()
    }
}

pub fn packet(question: &str, id: u16) -> Vec<u8> {
    let (name, qtype) = question.split_once(' ').expect("NAME TYPE");
    let name = NameBuf::parse(name).expect("a name");
    let mut query = Query::ask(name.as_name(), Rtype::from_mnemonic(qtype).expect("a type"));
    query.id = id;
    query.to_packet()
}

pub fn ask(addr: SocketAddr, transport: Transport, question: &str) -> Answer {
    try_ask(addr, transport, question, Duration::from_secs(5))
        .unwrap_or_else(|| panic!("no answer to {question}"))
}

pub fn try_ask(addr: SocketAddr, transport: Transport, question: &str, timeout: Duration) -> Option<Answer> {
    exchange(addr, transport, question, 1, timeout).pop()
}

pub fn ask_all(addr: SocketAddr, transport: Transport, question: &str, count: usize) -> Vec<Answer> {
    let answers = exchange(addr, transport, question, count, Duration::from_secs(5));
    assert_eq!(answers.len(), count);
    answers
}

fn exchange(
    addr: SocketAddr,
    transport: Transport,
    question: &str,
    count: usize,
    timeout: Duration,
) -> Vec<Answer> {
    let packet = packet(question, 7);
    match transport {
        Transport::Udp => {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            socket.set_read_timeout(Some(timeout)).expect("a time-out");
            socket.connect(addr).expect("connected");
            socket.send(&packet).expect("sent");
            let mut buffer = [0; 65535];
            (0..count)
                .map_while(|_| socket.recv(&mut buffer).ok().map(|n| Answer::decode(&buffer[..n])))
                .collect()
        }
        Transport::Tcp => {
            let mut stream = TcpStream::connect(addr).expect("connected");
            stream.set_read_timeout(Some(timeout)).expect("a time-out");
            send_frame(&mut stream, &packet);
            (0..count).map_while(|_| read_frame(&mut stream).map(|frame| Answer::decode(&frame))).collect()
        }
    }
}

/// Sends all questions at once over one connection; returns the questions in the order of their replies.
pub fn pipeline(addr: SocketAddr, questions: &[&str]) -> Vec<String> {
    let mut stream = TcpStream::connect(addr).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
    for (id, question) in questions.iter().enumerate() {
        send_frame(&mut stream, &packet(question, id as u16));
    }
    questions
        .iter()
        .map_while(|_| read_frame(&mut stream).map(|frame| Answer::decode(&frame).question))
        .collect()
}

pub fn send_frame(stream: &mut TcpStream, packet: &[u8]) {
    let mut frame = (packet.len() as u16).to_be_bytes().to_vec();
    frame.extend_from_slice(packet);
    stream.write_all(&frame).expect("sent");
}

pub fn read_frame(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut len = [0; 2];
    stream.read_exact(&mut len).ok()?;
    let mut frame = vec![0; usize::from(u16::from_be_bytes(len))];
    stream.read_exact(&mut frame).ok()?;
    Some(frame)
}
