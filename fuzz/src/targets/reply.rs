//! Replies of upstreams: any bytes decode or do not, and a decoded reply can be encoded again without loss.

use wire::{HEADER_LEN, Name, Query, Question, Reply, Rtype};

/// Small enough that many replies are truncated.
const SMALL: usize = 512;

pub fn check(input: &[u8]) {
    let mut reply = Reply::new();
    let Some((id, question)) = reply.decode(input) else { return };
    let mut query = Query::ask(Name::ROOT, Rtype::A);
    query.id = id;
    query.set_question(question.clone());

    // Buffers are reused in both rounds, as by a worker.
    let (mut out, mut again) = (Vec::new(), Reply::new());
    let whole = reply.encode(&query, usize::from(u16::MAX), &mut out);
    assert!(out.len() <= usize::from(u16::MAX), "encoded again it has {} octets", out.len());
    if !whole.truncated {
        assert_eq!(again.decode(&out), Some((id, question.clone())), "id and question, encoded again");
        check_same(&reply, &again, &question);
    }

    // Truncated it still decodes. Header, question and OPT stay, however large.
    reply.encode(&query, SMALL, &mut out);
    let opt = reply.opt.as_ref();
    let opt = opt.map_or(0, |opt| 11 + opt.options().map(|option| 4 + option.data.len()).sum::<usize>());
    let most = SMALL.max(HEADER_LEN + question.name().len() + 4 + opt);
    assert!(out.len() <= most, "truncated to {SMALL} octets it has {}", out.len());
    assert!(again.decode(&out).is_some(), "truncated it does not decode");
    assert!(again.records().len() <= reply.records().len(), "truncated it has more records");
}

fn check_same(left: &Reply, right: &Reply, question: &Question) {
    let head = |reply: &Reply| (reply.rcode, reply.opcode, reply.flags, reply.opt.clone());
    assert_eq!(head(left), head(right), "header, encoded again");
    let records = |reply: &Reply| -> Vec<_> {
        let fields = |record: &wire::Record| {
            let owner = reply.owner(record, question.name()).wire().to_vec();
            (owner, record.rtype, record.class, record.ttl, reply.data(record).to_vec())
        };
        reply.records().iter().map(fields).collect()
    };
    assert_eq!(records(left), records(right), "records, encoded again");
}
