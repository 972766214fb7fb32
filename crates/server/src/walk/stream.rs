//! Replies in several messages, such as zone transfers.
//!
//! ```text
//! poll_next ──More──→ up through plugins with PARTS ──→ encode, sign ──→ written ──→ poll_next …
//!     │ └─────Last──→ up through all plugins ─────────→ encode, sign ──→ written
//!     └─ an error, a panic, no message in time, the client is gone ──→ failure, up through all plugins
//! ```
//!
//! One message exists at a time: the next is produced when the last one is written. A failure before the first message
//! is an ordinary SERVFAIL; after it the transport closes the connection, so that the client cannot take the messages
//! for the whole.

use std::borrow::Cow;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use wire::{Query, Rcode, Reply, Rtype, Section};

use super::engine::Engine;
use super::exchange::{self, TASK};
use super::{Direction, Walk, mask_before};
use crate::{Block, Outcome, Service, Turn, log};

/// The source of a reply in several messages.
pub trait Messages: Send {
    /// Writes the next message. On `Pending` the records written so far stay in the message for the next call.
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        message: &mut Message<'_>,
    ) -> Poll<Result<Part, StreamError>>;
}

/// One message of a stream, under construction.
pub struct Message<'w> {
    /// The query, with the question as the streaming plugin received it.
    pub query: &'w Query,
    /// Starts as an empty NOERROR reply.
    pub reply: &'w mut Reply,
    /// The size limit of the encoded message, in octets. A larger one fails the stream.
    pub room: usize,
}

/// Whether a message is followed by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    More,
    Last,
}

/// Why a stream ended before its last message: a text for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamError(Cow<'static, str>);

impl StreamError {
    pub fn new(why: impl Into<Cow<'static, str>>) -> StreamError {
        StreamError(why.into())
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why AXFR fails over UDP, which RFC 5936 (section 4.2) does not define; CoreDNS refuses it.
const NOT_OVER_UDP: &str = "zone transfers over UDP are refused; use TCP";

/// A stream on its way to the client.
pub(crate) struct Stream {
    messages: Box<dyn Messages>,
    /// The position of the plugin that streams.
    source: usize,
    written: Written,
    /// The size of the message that the transport is writing.
    writing: Option<usize>,
}

/// The messages that were written so far.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    messages: u64,
    octets: u64,
}

/// The result of [`Stream::next`].
pub(crate) enum Next {
    /// The encoded message is in the buffer.
    Message(Part),
    /// The stream failed before its first message; the reply is in the buffer.
    Reply,
    /// The stream failed. The connection must be closed.
    Failed,
}

impl Stream {
    pub fn new(messages: Box<dyn Messages>, walk: &Walk) -> Stream {
        Stream { messages, source: walk.state.position, written: Written::default(), writing: None }
    }

    /// Produces the next message and encodes it. The transport calls it again when the message is written.
    pub async fn next(
        &mut self,
        walk: &mut Walk,
        block: &Arc<Block>,
        service: &Arc<Service>,
        out: &mut Vec<u8>,
    ) -> Next {
        if let Some(octets) = self.writing.take() {
            self.written.messages += 1;
            self.written.octets += octets as u64;
        }
        let part = match self.produce(walk, service).await {
            Ok(part) => part,
            Err(why) => return self.fail(why, walk, block, service, out),
        };
        let passed = supervise::catch(TASK, || {
            // The plugins above restore the questions they replaced; the source needs them for its next message.
            let undo = walk.state.undo.clone();
            let below = walk.query.question.clone();
            walk.pass_up(self.source, part, block, service);
            let encoded = walk.encode_part(part, block, out);
            if part == Part::More && !undo.is_empty() {
                walk.query.set_question(below);
                walk.state.undo = undo;
            }
            encoded
        });
        match passed {
            Ok(true) => {
                self.writing = Some(out.len());
                Next::Message(part)
            }
            Ok(false) => {
                let why = StreamError::new("a message does not fit into 65535 octets");
                self.fail(why, walk, block, service, out)
            }
            Err(panic) => {
                exchange::report(service, &panic);
                self.fail(StreamError::new("a plugin panicked"), walk, block, service, out)
            }
        }
    }

    /// Polls the source for one message, with a timeout.
    async fn produce(&mut self, walk: &mut Walk, service: &Service) -> Result<Part, StreamError> {
        let room = walk.limit();
        let Walk { query, reply, .. } = walk;
        reply.begin(query);
        let mut message = Message { query, reply, room };
        let polled = poll_fn(|context| self.messages.poll_next(context, &mut message));
        let idle = service.timeouts.idle;
        match tokio::time::timeout(idle, supervise::catch_async(TASK, polled)).await {
            Ok(Ok(produced)) => produced,
            Ok(Err(panic)) => {
                exchange::report(service, &panic);
                Err(StreamError::new("the plugin that streams panicked"))
            }
            Err(_) => Err(StreamError::new(format!("no message of the source in {idle:?}"))),
        }
    }

    /// Ends a stream whose message the transport could not write. The last one has already passed the plugins.
    pub fn abort(
        &self,
        why: StreamError,
        part: Part,
        walk: &mut Walk,
        block: &Arc<Block>,
        service: &Arc<Service>,
    ) {
        self.log_failure(&why, walk, service);
        if part == Part::More {
            fail_walk(walk, self.source, why.0, block, service);
        }
    }

    /// Fails the query. Its reply is sent only if no message was.
    fn fail(
        &self,
        why: StreamError,
        walk: &mut Walk,
        block: &Arc<Block>,
        service: &Arc<Service>,
        out: &mut Vec<u8>,
    ) -> Next {
        self.log_failure(&why, walk, service);
        fail_walk(walk, self.source, why.0, block, service);
        let mut encoded = || supervise::catch(TASK, || walk.encode(Some(block), out)).unwrap_or(false);
        if self.written.messages == 0 && encoded() { Next::Reply } else { Next::Failed }
    }

    fn log_failure(&self, why: &StreamError, walk: &Walk, service: &Service) {
        let question = &walk.query.question;
        let Written { messages, octets } = self.written;
        log::error(
            None,
            format_args!(
                "{}: stream of {} {} to {} failed after {messages} messages, {octets} octets: {why}",
                service.label,
                question.name(),
                question.qtype,
                walk.client.remote,
            ),
        );
    }
}

/// Fails the query of a stream and takes the failure up through the plugins; a panic in one of them ends the walk.
fn fail_walk(
    walk: &mut Walk,
    source: usize,
    why: Cow<'static, str>,
    block: &Arc<Block>,
    service: &Arc<Service>,
) {
    let failed = supervise::catch(TASK, || walk.fail_stream(source, Rcode::SERVFAIL, why, block, service));
    if let Err(panic) = failed {
        exchange::report(service, &panic);
        walk.recover();
    }
}

/// The one message that a transport for single messages gets of a stream: the first if it is also the last and fits,
/// else only its SOA (RFC 1995, section 2). Other streams than IXFR are refused. The walk has the outcome.
pub(crate) async fn single_message(
    messages: Box<dyn Messages>,
    walk: &mut Walk,
    block: &Arc<Block>,
    service: &Arc<Service>,
) {
    let mut stream = Stream::new(messages, walk);
    if walk.query.question.qtype != Rtype::IXFR {
        return walk.fail_stream(stream.source, Rcode::REFUSED, NOT_OVER_UDP.into(), block, service);
    }
    match stream.produce(walk, service).await {
        Ok(part) => {
            let mut packet = Vec::new();
            let mut cut = || walk.reply.encode(&walk.query, walk.limit(), &mut packet).truncated;
            if part == Part::More || cut() {
                let mut is_first = true;
                walk.reply.retain(Section::Answer, |_| std::mem::take(&mut is_first));
                walk.reply.retain(Section::Authority, |_| false);
                walk.reply.retain(Section::Additional, |_| false);
            }
            walk.pass_up(stream.source, Part::Last, block, service);
        }
        Err(why) => {
            stream.log_failure(&why, walk, service);
            walk.fail_stream(stream.source, Rcode::SERVFAIL, why.0, block, service);
        }
    }
}

impl Walk {
    /// Takes a message up through the plugins above the one that streams: with the last one through all, else through
    /// those that want parts.
    fn pass_up(&mut self, source: usize, part: Part, block: &Arc<Block>, service: &Arc<Service>) {
        self.state.position = source;
        self.state.outcome = Outcome::Records;
        let size = self.reply.plain_len(&self.query.question) as u64;
        self.engine(block, service).up_without_waiting(part);
        if part == Part::More {
            self.state.streamed += size;
        }
    }

    /// Fails the query of a stream; the failure goes up through all plugins.
    pub(super) fn fail_stream(
        &mut self,
        source: usize,
        rcode: Rcode,
        why: Cow<'static, str>,
        block: &Arc<Block>,
        service: &Arc<Service>,
    ) {
        self.reply.begin_error(&self.query, rcode);
        self.state.position = source;
        self.state.outcome = Outcome::Failure;
        self.state.error = Some(why);
        self.engine(block, service).up_without_waiting(Part::Last);
    }

    /// Encodes and signs a message; plugins that want parts, with the last one all, get the final bytes. False if it
    /// does not fit.
    fn encode_part(&mut self, part: Part, block: &Block, out: &mut Vec<u8>) -> bool {
        if self.reply.encode(&self.query, self.limit(), out).truncated {
            return false;
        }
        self.sign(block, out);
        let wanted = if part == Part::Last { u64::MAX } else { block.wants_parts };
        self.call_sent_hooks(block, wanted, out);
        true
    }
}

impl Engine<'_> {
    /// Calls the `reply` hooks for a message of a stream. No plugin may wait or walk down again meanwhile.
    fn up_without_waiting(&mut self, part: Part) {
        let wanted = |engine: &Self, position| match part {
            Part::Last => engine.reply_mask(position),
            Part::More => engine.reply_mask(position) & engine.visit.block.wants_parts,
        };
        self.visit.state.direction = Direction::Up;
        let mut outcome = self.visit.state.outcome;
        let mut left = wanted(self, self.visit.state.position);
        while left != 0 {
            let position = 63 - left.leading_zeros() as usize;
            left &= mask_before(position);
            if self.visit.block.settings.traced && part == Part::Last {
                self.close_spans(position + 1);
            }
            self.restore_question(position);
            self.visit.state.position = position;
            drop::<Turn>(self.visit.block.chain()[position].reply(&mut self.visit));
            // Another outcome concerns other plugins.
            if outcome != self.visit.state.outcome {
                outcome = self.visit.state.outcome;
                left = wanted(self, position);
            }
        }
        self.restore_question(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::exchange::{PacketResult, answer, refuse_wait};
    use crate::{Client, Plugin, Step, Transport, Visit};

    struct Source;

    impl Plugin for Source {
        fn name(&self) -> &'static str {
            "source"
        }

        fn query(&self, _visit: &mut Visit<'_>) -> Step {
            Step::Stream(Box::new(Empty))
        }
    }

    struct Empty;

    impl Messages for Empty {
        fn poll_next(&mut self, _: &mut Context<'_>, _: &mut Message<'_>) -> Poll<Result<Part, StreamError>> {
            Poll::Ready(Ok(Part::Last))
        }
    }

    #[test]
    fn a_stream_beyond_the_limit_of_waiting_queries_fails() {
        let root = wire::NameBuf::root();
        let block = Arc::new(Block::new(vec![Arc::new(Source)], Default::default(), Default::default()));
        let service = Arc::new(Service::new("dns://:53".to_owned(), vec![(root.clone(), block)]));
        let packet = Query::ask(root.as_name(), Rtype::AXFR).to_packet();
        let (mut walk, mut out) = (Walk::new(), Vec::new());
        let client = Client { transport: Transport::Tcp, ..Client::unspecified() };
        let result = answer(&service, &mut walk, client, &packet, None, &mut out);
        let PacketResult::Unfinished(progress, block) = result else { panic!("it streams") };
        let refused = refuse_wait(&service, &mut walk, progress, &block, &mut out);
        assert!(matches!(refused, PacketResult::Reply));
        let mut reply = Reply::new();
        reply.decode(&out).expect("a reply");
        assert_eq!(reply.rcode, Rcode::SERVFAIL);
        assert_eq!(walk.state.error.as_deref(), Some("too many queries are waiting"));
    }
}
