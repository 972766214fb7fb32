//! Splits the byte stream of a watch into frames, one per event.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::timeout;

use crate::decode::Encoding;

/// Maximum size of a frame in bytes. The API server accepts objects of 3 MB at most, so a larger length is garbage.
const MAX_FRAME: usize = 64 << 20;

pub(super) struct Frames {
    body: Body,
    buffer: BytesMut,
    encoding: Encoding,
}

#[derive(Debug, PartialEq)]
pub(super) enum NextFrame {
    Frame(Bytes),
    /// The server has ended the stream.
    End,
    /// Nothing arrived within the limit.
    TimedOut,
    /// The connection broke, or the bytes are no frames.
    Broken(String),
}

impl Frames {
    pub(super) fn new(body: Body, encoding: Encoding) -> Self {
        Self { body, buffer: BytesMut::new(), encoding }
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    pub(super) async fn next(&mut self, limit: Duration) -> NextFrame {
        loop {
            match take_frame(&mut self.buffer, self.encoding) {
                Ok(Some(frame)) => return NextFrame::Frame(frame),
                Ok(None) => {}
                Err(why) => return NextFrame::Broken(why),
            }
            match timeout(limit, self.body.frame()).await {
                Err(_) => return NextFrame::TimedOut,
                Ok(None) if self.buffer.is_empty() => return NextFrame::End,
                Ok(None) => {
                    return NextFrame::Broken(
                        "the connection was closed in the middle of an event".to_owned(),
                    );
                }
                Ok(Some(Err(e))) => return NextFrame::Broken(e.to_string()),
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}

/// Takes the first frame from the buffer, if it is complete.
fn take_frame(buffer: &mut BytesMut, encoding: Encoding) -> Result<Option<Bytes>, String> {
    match encoding {
        Encoding::Protobuf => {
            let Some(head) = buffer.first_chunk::<4>() else { return Ok(None) };
            let length = u32::from_be_bytes(*head) as usize;
            if length > MAX_FRAME {
                return Err(format!("event length {length} exceeds the maximum of {MAX_FRAME} bytes"));
            }
            if buffer.len() < head.len() + length {
                buffer.reserve(head.len() + length - buffer.len());
                return Ok(None);
            }
            buffer.advance(4);
            Ok(Some(buffer.split_to(length).freeze()))
        }
        Encoding::Json => loop {
            let Some(end) = buffer.iter().position(|byte| *byte == b'\n') else {
                return if buffer.len() > MAX_FRAME {
                    Err(format!("an event exceeds the maximum of {MAX_FRAME} bytes"))
                } else {
                    Ok(None)
                };
            };
            let line = buffer.split_to(end + 1).freeze();
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
        // In pieces of every size.
        for size in 1..=bytes.len() {
            let mut buffer = BytesMut::new();
            let mut got = Vec::new();
            for piece in bytes.chunks(size) {
                buffer.extend_from_slice(piece);
                while let Some(frame) = take_frame(&mut buffer, encoding).unwrap() {
                    got.push(frame);
                }
            }
            assert_eq!(
                (&*got, &*buffer),
                (&*frames.iter().map(|it| Bytes::copy_from_slice(it)).collect::<Vec<_>>(), rest)
            );
        }
    }

    #[test]
    fn frames_are_split_however_the_bytes_arrive() {
        check(
            Encoding::Protobuf,
            b"\0\0\0\x03abc\0\0\0\0\0\0\0\x02de\0\0\0\x09f",
            &[b"abc", b"", b"de"],
            b"\0\0\0\x09f",
        );
        check(Encoding::Json, b"{}\n\r\n[1]\n{", &[b"{}\n", b"[1]\n"], b"{");
    }

    #[test]
    fn lengths_beyond_the_limit_are_errors() {
        assert!(take_frame(&mut BytesMut::from(&b"HTTP"[..]), Encoding::Protobuf).is_err());
    }
}
