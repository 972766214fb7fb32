//! Minimal HTTP/1.1 for API clients: GET without a body, responses whole or chunked.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::TcpStream;

use super::Fault;
use super::request::{self, Request};
use super::store::{Store, Watch};
use crate::error::Result;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

const NOTHING_ELSE: &str = "the script has nothing else";

/// Maximum size of a chunk.
const CHUNK: usize = 64 << 10;

/// Serves a connection until its peer closes it.
pub fn serve(stream: &TcpStream, store: &Store) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = BufWriter::with_capacity(CHUNK, stream);
    while let Some((target, accepts_protobuf)) = head(&mut reader)? {
        let request = request::read(&target);
        match request.as_ref().and_then(|(resource, _)| Some((*resource, store.fault_of(*resource)?))) {
            Some((resource, Fault::Forbidden)) => {
                let (kind, group) = (resource.plural(), resource.group());
                let message = format!(
                    "{kind} is forbidden: User \"x\" cannot list resource \"{kind}\" in API group \"{group}\" at the \
                     cluster scope"
                );
                refuse(&mut writer, "403 Forbidden", "Forbidden", 403, &message)?;
                continue;
            }
            Some((_, Fault::Unauthorized)) => {
                refuse(&mut writer, "401 Unauthorized", "Unauthorized", 401, "Unauthorized")?;
                continue;
            }
            // Waits until the peer closes the connection.
            Some((_, Fault::Silence)) => {
                reader.read_to_end(&mut Vec::new())?;
                return Ok(());
            }
            Some((_, Fault::Unfinished)) | None => {}
        }
        match request {
            None => refuse(&mut writer, "404 Not Found", "NotFound", 404, NOTHING_ELSE)?,
            Some(_) if !accepts_protobuf => {
                refuse(&mut writer, "406 Not Acceptable", "NotAcceptable", 406, NOTHING_ELSE)?;
            }
            Some((resource, Request::List { limit, from })) => {
                answer(&mut writer, "200 OK", PROTOBUF, &store.page(resource, limit, from))?;
            }
            Some((resource, Request::Stream)) => return watch(writer, store.stream(resource)),
            Some((resource, Request::Watch { version })) => match store.watch(resource, version) {
                Some(changes) => return watch(writer, changes),
                None => refuse(&mut writer, "410 Gone", "Expired", 410, NOTHING_ELSE)?,
            },
        }
    }
    Ok(())
}

/// The request target, and whether the client accepts protobuf; none when the peer has closed.
fn head(reader: &mut impl BufRead) -> Result<Option<(String, bool)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut accepts_protobuf = false;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        accepts_protobuf |= name.eq_ignore_ascii_case("accept") && value.contains(PROTOBUF);
    }
    Ok(Some((target, accepts_protobuf)))
}

fn refuse(writer: &mut impl Write, status: &str, reason: &str, code: u16, message: &str) -> Result<()> {
    let body = serde_json::json!({
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "code": code,
    });
    answer(writer, status, "application/json", body.to_string().as_bytes())
}

fn answer(writer: &mut impl Write, status: &str, content_type: &str, body: &[u8]) -> Result<()> {
    let length = body.len();
    write!(writer, "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n")?;
    writer.write_all(body)?;
    Ok(writer.flush()?)
}

/// Sends events until the peer closes or the watch ends.
fn watch(mut writer: impl Write, watch: Watch) -> Result<()> {
    let content_type = format!("{PROTOBUF};stream=watch");
    write!(writer, "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n")?;
    writer.flush()?;
    let mut chunk = Vec::with_capacity(CHUNK);
    for frame in watch.first {
        chunk.extend_from_slice(&frame);
        if chunk.len() >= CHUNK {
            send(&mut writer, &mut chunk)?;
        }
    }
    send(&mut writer, &mut chunk)?;
    while let Ok(frame) = watch.changes.recv() {
        chunk.extend_from_slice(&frame);
        while chunk.len() < CHUNK
            && let Ok(frame) = watch.changes.try_recv()
        {
            chunk.extend_from_slice(&frame);
        }
        send(&mut writer, &mut chunk)?;
    }
    writer.write_all(b"0\r\n\r\n")?;
    Ok(writer.flush()?)
}

/// Sends a chunk unless it is empty: an empty one would end the body.
fn send(writer: &mut impl Write, chunk: &mut Vec<u8>) -> Result<()> {
    if chunk.is_empty() {
        return Ok(());
    }
    write!(writer, "{:x}\r\n", chunk.len())?;
    writer.write_all(chunk)?;
    writer.write_all(b"\r\n")?;
    chunk.clear();
    Ok(writer.flush()?)
}
