//! The events of a watch, cut out of the stream of bytes.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::timeout;

use super::decode::Encoding;

/// No object is as large: the API server takes 3 MB at most. A length beyond it is no length.
const LARGEST: usize = 64 << 20;

pub(super) struct Frames {
    body: Body,
    waiting: BytesMut,
    encoding: Encoding,
}

#[derive(Debug, PartialEq)]
pub(super) enum Next {
    Frame(Bytes),
    /// The server has ended the stream.
    End,
    /// Nothing came for as long as was allowed.
    Silent,
    /// The connection broke, or what comes is no stream of events.
    Broken(String),
}

impl Frames {
    pub(super) fn new(body: Body, encoding: Encoding) -> Self {
        Self { body, waiting: BytesMut::new(), encoding }
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    pub(super) async fn next(&mut self, patience: Duration) -> Next {
        loop {
            match cut(&mut self.waiting, self.encoding) {
                Ok(Some(frame)) => return Next::Frame(frame),
                Ok(None) => {}
                Err(why) => return Next::Broken(why),
            }
            match timeout(patience, self.body.frame()).await {
                Err(_) => return Next::Silent,
                Ok(None) if self.waiting.is_empty() => return Next::End,
                Ok(None) => return Next::Broken("the connection ended inside an event".to_owned()),
                Ok(Some(Err(e))) => return Next::Broken(e.to_string()),
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.waiting.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}

/// Takes the first frame off the bytes that have come, if it is complete.
fn cut(waiting: &mut BytesMut, encoding: Encoding) -> Result<Option<Bytes>, String> {
    match encoding {
        Encoding::Protobuf => {
            let Some(head) = waiting.first_chunk::<4>() else { return Ok(None) };
            let length = u32::from_be_bytes(*head) as usize;
            if length > LARGEST {
                return Err(format!("an event of {length} bytes"));
            }
            if waiting.len() < head.len() + length {
                waiting.reserve(head.len() + length - waiting.len());
                return Ok(None);
            }
            waiting.advance(4);
            Ok(Some(waiting.split_to(length).freeze()))
        }
        Encoding::Json => loop {
            let Some(end) = waiting.iter().position(|byte| *byte == b'\n') else {
                return if waiting.len() > LARGEST {
                    Err("an event without end".to_owned())
                } else {
                    Ok(None)
                };
            };
            let line = waiting.split_to(end + 1).freeze();
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(encoding: Encoding, bytes: &[u8], frames: &[&[u8]], rest: &[u8]) {
        // However the bytes are cut by the network.
        for size in 1..=bytes.len() {
            let mut waiting = BytesMut::new();
            let mut got = Vec::new();
            for piece in bytes.chunks(size) {
                waiting.extend_from_slice(piece);
                while let Some(frame) = cut(&mut waiting, encoding).unwrap() {
                    got.push(frame);
                }
            }
            assert_eq!(
                (&*got, &*waiting),
                (&*frames.iter().map(|it| Bytes::copy_from_slice(it)).collect::<Vec<_>>(), rest)
            );
        }
    }

    #[test]
    fn frames_are_cut_out() {
        check(
            Encoding::Protobuf,
            b"\0\0\0\x03abc\0\0\0\0\0\0\0\x02de\0\0\0\x09f",
            &[b"abc", b"", b"de"],
            b"\0\0\0\x09f",
        );
        check(Encoding::Json, b"{}\n\r\n[1]\n{", &[b"{}\n", b"[1]\n"], b"{");
    }

    #[test]
    fn lengths_that_are_none() {
        assert!(cut(&mut BytesMut::from(&b"HTTP"[..]), Encoding::Protobuf).is_err());
    }
}
