//! Replies of other servers: any bytes decode or do not, and what decodes survives being written again.

use wire::{Class, Name, Query, Question, Reply, Rtype};

use crate::mutate::Mutator;
use crate::shape::Shape;

/// A size small enough that many replies must be cut.
const SMALL: usize = 512;

/// Decodes mutated replies. Keeps its buffers, as a worker does.
pub struct ReplyCheck {
    dictionary: &'static [&'static [u8]],
    first: Reply,
    second: Reply,
    query: Query,
    out: Vec<u8>,
}

impl ReplyCheck {
    pub fn new(dictionary: &'static [&'static [u8]]) -> Self {
        Self {
            dictionary,
            first: Reply::new(),
            second: Reply::new(),
            query: Query::ask(Name::ROOT, Rtype::A),
            out: Vec::new(),
        }
    }

    /// Mutates a reply and reads it. The mutations follow from the reply, so that a replay makes the same ones.
    pub fn check(&mut self, packet: &[u8]) -> Result<(), String> {
        let seed = Shape::new().with(packet).number();
        let mut mutator = Mutator::new(seed, self.dictionary, usize::from(u16::MAX));
        let mut bytes = packet.to_vec();
        for _ in 0..2 {
            mutator.mutate(&mut bytes, packet);
            self.survives(&bytes).map_err(|what| format!("{what}; the reply was {bytes:02x?}"))?;
        }
        Ok(())
    }

    fn survives(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Some((id, question)) = self.first.decode(bytes) else { return Ok(()) };
        self.query.id = id;
        self.query.set_question(question.clone());
        let whole = self.first.encode(&self.query, usize::from(u16::MAX), &mut self.out);
        if self.out.len() > usize::from(u16::MAX) {
            return Err(format!("written again it has {} octets", self.out.len()));
        }
        if !whole.truncated {
            let again = self.second.decode(&self.out).ok_or("written again it does not decode")?;
            if again != (id, question.clone()) {
                return Err(format!("the question became {:?}", again.1));
            }
            same(&self.first, &self.second, &question)?;
        }
        self.cut(&question)
    }

    /// Cut to a small size it still decodes, and what is left is a beginning of the whole.
    fn cut(&mut self, question: &Question) -> Result<(), String> {
        self.first.encode(&self.query, SMALL, &mut self.out);
        let opt = self
            .first
            .opt
            .as_ref()
            .map_or(0, |opt| 11 + opt.options().map(|o| 4 + o.data.len()).sum::<usize>());
        // Header, question and OPT stay, however large.
        let most = SMALL.max(12 + question.name().len() + 4 + opt);
        if self.out.len() > most {
            return Err(format!("cut to {SMALL} octets it has {}", self.out.len()));
        }
        self.second.decode(&self.out).ok_or("cut it does not decode")?;
        if self.second.records().len() > self.first.records().len() {
            return Err("cut it has more records".to_owned());
        }
        Ok(())
    }
}

fn same(left: &Reply, right: &Reply, question: &Question) -> Result<(), String> {
    let head = |reply: &Reply| (reply.rcode, reply.opcode, reply.flags, reply.opt.clone());
    if head(left) != head(right) {
        return Err(format!("{:?} became {:?}", head(left), head(right)));
    }
    if left.records().len() != right.records().len() {
        return Err(format!("{} records became {}", left.records().len(), right.records().len()));
    }
    for (one, other) in left.records().iter().zip(right.records()) {
        let fields = |reply: &Reply, record: &wire::Record| -> (Vec<u8>, Rtype, Class, u32, Vec<u8>) {
            let owner = reply.owner(record, question.name()).wire().to_vec();
            (owner, record.rtype, record.class, record.ttl, reply.data(record).to_vec())
        };
        let (one, other) = (fields(left, one), fields(right, other));
        if one != other {
            return Err(format!("{one:02x?} became {other:02x?}"));
        }
    }
    Ok(())
}
