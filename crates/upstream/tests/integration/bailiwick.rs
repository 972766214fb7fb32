//! Records that do not belong to the question are removed, over every network.

use testkit::message::Message;
use testkit::scripted_upstream::{Reply, ScriptedUpstream, Step};
use upstream::Network::{Tcp, Udp};

use crate::ask::{ask, query, summary, to};

fn forged() -> Step {
    let reply = Reply { flags: 0x0420, ..Reply::rcode(0) }
        .answer(
            "@ 300 IN CNAME a.example.\nbank.example. 300 IN A 203.0.113.66\na.example. 300 IN A 192.0.2.1",
        )
        .unwrap()
        .authority("example. 300 IN NS ns.example.\nbank.example. 300 IN NS ns.evil.")
        .unwrap()
        .additional("ns.example. 300 IN A 192.0.2.2\nns.evil. 300 IN A 203.0.113.66")
        .unwrap();
    Step::Reply(reply)
}

#[tokio::test]
async fn out_of_bailiwick_records_are_removed() {
    let server = ScriptedUpstream::start().unwrap();
    server.otherwise([forged()]);
    for mixed_case in [false, true] {
        let upstream = to(&server, |options| options.mixed_case = mixed_case);
        for network in [Udp, Tcp] {
            let answer = ask(&upstream, "Www.Example.", network).await;
            let expected =
                "0 qr,aa,rd,ra,ad Www.Example. 300 IN CNAME a.example., a.example. 300 IN A 192.0.2.1";
            assert_eq!(summary(&answer), expected);
            let message = Message::decode(&answer.unwrap().message);
            let rest: Vec<String> =
                message.authority.iter().chain(&message.additional).map(ToString::to_string).collect();
            assert_eq!(rest, ["example. 300 IN NS ns.example.", "ns.example. 300 IN A 192.0.2.2"]);
        }
    }
}

#[tokio::test]
async fn the_remaining_reply_keeps_its_edns() {
    let server = ScriptedUpstream::start().unwrap();
    server.otherwise([Step::Reply(Reply::rcode(23).answer("bank.example. 9 IN A 203.0.113.66").unwrap())]);
    let upstream = to(&server, |_| {});
    let mut packet = query("www.example.");
    packet[11] = 1;
    packet.extend([0, 0, 41, 4, 0xD0, 0, 0, 0x80, 0, 0, 0]);
    let answer = upstream.exchange(&packet, Udp, 1232).await.unwrap();
    let message = Message::decode(&answer.message);
    assert_eq!((message.rcode(), message.answer.len(), message.opts.len()), (23, 0, 1));
    assert_eq!((message.opts[0].size, message.opts[0].flags), (1232, 0x8000));
}
