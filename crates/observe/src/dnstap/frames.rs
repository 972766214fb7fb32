//! Frame Streams: the writer's side of the handshake.
//!
//! ```text
//! writer  READY ──→          START ──→ data … ──→ STOP ──→
//! reader          ←── ACCEPT                               ←── FINISH
//! ```
//!
//! A data frame is its length and the bytes. Length 0 escapes a control frame: its length, its type, its fields.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub(super) const CONTENT_TYPE: &[u8] = b"protobuf:dnstap.Dnstap";

/// The only field of control frames.
const FIELD_CONTENT_TYPE: u32 = 1;
/// No control frame is longer, says the specification.
const MOST: u32 = 512;

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

/// Begins a stream.
pub(super) async fn shake_hands(bytes: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    bytes.write_all(&Control::Ready.encode()).await?;
    bytes.flush().await?;
    let types = expect(bytes, Control::Accept).await?;
    // A reader that names no type takes any.
    if !types.is_empty() && !types.iter().any(|name| name == CONTENT_TYPE) {
        return Err(io::Error::other("content type mismatch"));
    }
    bytes.write_all(&Control::Start.encode()).await?;
    bytes.flush().await
}

/// Ends a stream; the reader's FINISH says that it has read everything.
pub(super) async fn finish(bytes: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    bytes.write_all(&Control::Stop.encode()).await?;
    bytes.flush().await?;
    expect(bytes, Control::Finish).await?;
    bytes.shutdown().await
}

/// Reads a control frame that must be `wanted`; the content types in it.
pub(super) async fn expect(
    bytes: &mut (impl AsyncRead + Unpin),
    wanted: Control,
) -> io::Result<Vec<Vec<u8>>> {
    let wrong = || io::Error::other("unexpected frame");
    let (escape, length) = (bytes.read_u32().await?, bytes.read_u32().await?);
    if escape != 0 || !(4..=MOST).contains(&length) {
        return Err(wrong());
    }
    let mut frame = vec![0; length as usize];
    bytes.read_exact(&mut frame).await?;
    let mut rest = &frame[..];
    if word(&mut rest) != Some(wanted as u32) {
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
