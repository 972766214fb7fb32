//! The `extra` field: a text with the placeholders of the query log and of metadata.

use server::{Client, Sent, Visit};
use wire::{Query, Reply};

use crate::log::{Format, Line, Piece, Response, Value};

pub(super) struct Extra(pub(super) Format);

impl Extra {
    pub fn parse(text: &str) -> Extra {
        let mut format = Format::parse(text);
        for piece in &mut format.pieces {
            // Values of the reply are not available here, as in CoreDNS.
            if let Piece::Value(Value::Rcode | Value::Rsize | Value::Duration | Value::Rflags) = piece {
                *piece = Piece::Literal("-".into());
            }
        }
        Extra(format)
    }

    /// The text before the reply is encoded.
    pub fn before_reply(&self, visit: &Visit<'_>) -> Vec<u8> {
        self.text(visit.query, visit.reply, visit.client, Response::Nothing, &|label| visit.metadata(label))
    }

    /// The text when the reply is sent.
    pub fn after_reply(&self, sent: &Sent<'_>) -> Vec<u8> {
        let response = Response::Reply { flags: sent.reply.flags };
        self.text(sent.query, sent.reply, sent.client, response, &|label| sent.metadata(label))
    }

    fn text(
        &self,
        query: &Query,
        reply: &Reply,
        client: &Client,
        response: Response,
        metadata: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let line = Line { query, reply, client, response, rsize: 0, nanos: 0 };
        line.text(&self.0, metadata, &mut out);
        out
    }
}
