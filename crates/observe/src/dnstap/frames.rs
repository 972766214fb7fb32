//! Frame Streams: the writer's side of the handshake.
//!
//! ```text
//! writer  READY ──→          START ──→ data … ──→ STOP ──→
//! reader          ←── ACCEPT                               ←── FINISH
//! ```
//!
//! A data frame is a length and the payload. Length 0 is the escape before a control frame: length, type, fields.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub(super) const CONTENT_TYPE: &[u8] = b"protobuf:dnstap.Dnstap";

/// The only field of control frames.
const FIELD_CONTENT_TYPE: u32 = 1;
/// The specification's limit on the length of a control frame.
const MAX_CONTROL_LEN: u32 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Control {
    Accept = 1,
    Start = 2,
    Stop = 3,
    Ready = 4,
    Finish = 5,
}

impl Control {
    pub fn encode(self) -> Vec<u8> {
        let has_type = matches!(self, Control::Accept | Control::Start | Control::Ready);
        let length = if has_type { 12 + CONTENT_TYPE.len() } else { 4 };
        let mut frame = Vec::with_capacity(8 + length);
        for word in [0, length as u32, self as u32] {
            frame.extend_from_slice(&word.to_be_bytes());
        }
        if has_type {
            for word in [FIELD_CONTENT_TYPE, CONTENT_TYPE.len() as u32] {
                frame.extend_from_slice(&word.to_be_bytes());
            }
            frame.extend_from_slice(CONTENT_TYPE);
        }
        frame
    }
}

/// READY, ACCEPT, START.
pub(super) async fn handshake(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    stream.write_all(&Control::Ready.encode()).await?;
    stream.flush().await?;
    let types = read_control(stream, Control::Accept).await?;
    // A reader that names no content type accepts any.
    if !types.is_empty() && !types.iter().any(|name| name == CONTENT_TYPE) {
        return Err(io::Error::other("content type mismatch"));
    }
    stream.write_all(&Control::Start.encode()).await?;
    stream.flush().await
}

/// Sends STOP and waits for FINISH, which confirms that the reader has read everything.
pub(super) async fn finish(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    stream.write_all(&Control::Stop.encode()).await?;
    stream.flush().await?;
    read_control(stream, Control::Finish).await?;
    stream.shutdown().await
}

/// Reads a control frame of the `expected` type and returns its content types.
pub(super) async fn read_control(
    stream: &mut (impl AsyncRead + Unpin),
    expected: Control,
) -> io::Result<Vec<Vec<u8>>> {
    let wrong = || io::Error::other("unexpected frame");
    let (escape, length) = (stream.read_u32().await?, stream.read_u32().await?);
    if escape != 0 || !(4..=MAX_CONTROL_LEN).contains(&length) {
        return Err(wrong());
    }
    let mut frame = vec![0; length as usize];
    stream.read_exact(&mut frame).await?;
    let mut rest = &frame[..];
    if word(&mut rest) != Some(expected as u32) {
        return Err(wrong());
    }
    let mut types = Vec::new();
    while !rest.is_empty() {
        let (field, length) = (word(&mut rest), word(&mut rest).unwrap_or(u32::MAX));
        let Some((value, after)) = rest.split_at_checked(length as usize) else { return Err(wrong()) };
        if field != Some(FIELD_CONTENT_TYPE) {
            return Err(wrong());
        }
        types.push(value.to_vec());
        rest = after;
    }
    Ok(types)
}

fn word(rest: &mut &[u8]) -> Option<u32> {
    let (word, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_be_bytes(*word))
}
