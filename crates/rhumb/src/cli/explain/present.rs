//! An explanation as text in the format of dig, and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use server::Outcome;
use server::explain::Note;
use wire::{Question, Reply, Section};

use super::Explanation;

const SECTIONS: [(Section, &str); 3] =
    [(Section::Answer, "answer"), (Section::Authority, "authority"), (Section::Additional, "additional")];

pub fn as_text(explanation: &Explanation) -> String {
    let Explanation { query, client, listener, other_listeners, answered } = explanation;
    let question = &query.question;
    let mut text = format!(
        "{} {} {} from {} over {} at {listener}\n",
        question.name(),
        question.qclass,
        question.qtype,
        client.remote.ip(),
        client.transport.proto().to_uppercase(),
    );
    if !other_listeners.is_empty() {
        let _ = writeln!(text, "(other listeners, for --server: {})", other_listeners.join(", "));
    }
    text.push('\n');
    text.push_str(&notes(&answered.notes));
    text.push('\n');
    match decoded(explanation) {
        Some((reply, question)) => text.push_str(&answer(&reply, &question)),
        None => text.push_str(";; no reply\n"),
    }
    if let Some(note) = answered.notes.iter().find(|note| note.incomplete) {
        let plugin = note.plugin;
        let _ = writeln!(text, "\n;; not reliable: {plugin} has incomplete data for this answer, see above");
    }
    text
}

/// A line per decision; those of nested lookups are indented.
fn notes(notes: &[Note]) -> String {
    let width = notes.iter().map(|note| 2 * usize::from(note.depth) + note.plugin.len()).max().unwrap_or(0);
    let line = |note: &Note| {
        let plugin = format!("{}{}", "  ".repeat(usize::from(note.depth)), note.plugin);
        format!("{plugin:width$}  {}\n", note.text)
    };
    notes.iter().map(line).collect()
}

/// The reply as a client decodes it.
fn decoded(explanation: &Explanation) -> Option<(Reply, Question)> {
    let mut reply = Reply::new();
    let (_, question) = reply.decode(explanation.answered.packet.as_deref()?)?;
    Some((reply, question))
}

fn answer(reply: &Reply, question: &Question) -> String {
    let (status, flags) = status(reply, question);
    let mut text = format!(";; status: {status}, flags: {flags}\n");
    for (section, title) in SECTIONS {
        let records = reply.section(section);
        if !records.is_empty() {
            let _ = writeln!(text, "\n;; {}", title.to_uppercase());
        }
        for record in records {
            let _ = writeln!(text, "{}", reply.present_record(record, question.name()));
        }
    }
    text
}

/// The rcode and the flags, from the first line of the reply's presentation format.
fn status(reply: &Reply, question: &Question) -> (String, String) {
    let text = reply.present(question);
    let (status, flags) = text.lines().next().and_then(|line| line.split_once(' ')).unwrap_or(("", ""));
    (status.to_owned(), flags.replace(',', " "))
}

pub fn as_json(explanation: &Explanation) -> Value {
    let Explanation { query, client, listener, other_listeners: _, answered } = explanation;
    let question = &query.question;
    let note = |note: &Note| json!({ "plugin": note.plugin, "depth": note.depth, "text": note.text });
    let mut value = json!({
        "question": {
            "name": question.name().to_string(),
            "type": question.qtype.to_string(),
            "class": question.qclass.to_string(),
        },
        "client": client.remote.ip().to_string(),
        "transport": client.transport.proto(),
        "listener": listener,
        "notes": answered.notes.iter().map(note).collect::<Vec<_>>(),
        "outcome": match answered.outcome {
            Outcome::Records => "answered",
            Outcome::Failure => "failed",
            Outcome::Drop => "dropped",
        },
        "answered_by": answered.answered_by,
        "error": answered.error,
        "complete": explanation.is_complete(),
    });
    if let Some((reply, question)) = decoded(explanation) {
        let (status, flags) = status(&reply, &question);
        value["status"] = status.into();
        value["flags"] = flags.split_whitespace().collect::<Vec<_>>().into();
        for (section, title) in SECTIONS {
            let records = reply.section(section).iter();
            value[title] =
                records.map(|r| reply.present_record(r, question.name())).collect::<Vec<_>>().into();
        }
    }
    value
}
