//! Encodes a pprof profile (`profile.proto`): each thread is a stack of two frames, its kind and its name.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    pub period: i64,
}

/// Indices into the string table.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(super) struct ValueType {
    #[prost(int64, tag = "1")]
    pub kind: i64,
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Sample {
    /// The innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Location {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(super) struct Line {
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(super) struct Function {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(int64, tag = "2")]
    pub name: i64,
}

/// Encodes a profile of thread names and their CPU time in nanoseconds.
pub(super) fn encode(usage: &[(String, u64)], start: SystemTime, time: Duration) -> Vec<u8> {
    profile(usage, start, time).encode_to_vec()
}

pub(super) fn profile(usage: &[(String, u64)], start: SystemTime, time: Duration) -> Profile {
    let mut profile = Profile::default();
    // The format requires an empty first string.
    profile.string("");
    let cpu = ValueType { kind: profile.string("cpu"), unit: profile.string("nanoseconds") };
    profile.sample_type = vec![cpu];
    profile.period_type = Some(cpu);
    profile.period = 1;
    profile.time_nanos = start.duration_since(UNIX_EPOCH).map_or(0, nanoseconds);
    profile.duration_nanos = nanoseconds(time);
    for (name, nanoseconds) in usage {
        let kind = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
        let mut location_id = vec![profile.location(name)];
        if kind != name && !kind.is_empty() {
            location_id.push(profile.location(kind));
        }
        let value = vec![i64::try_from(*nanoseconds).unwrap_or(i64::MAX)];
        profile.sample.push(Sample { location_id, value });
    }
    profile
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

impl Profile {
    /// Index of a string, which is added if missing.
    fn string(&mut self, text: &str) -> i64 {
        let known = self.string_table.iter().position(|known| known == text);
        let index = known.unwrap_or_else(|| {
            self.string_table.push(text.to_owned());
            self.string_table.len() - 1
        });
        index as i64
    }

    /// Id of the location with this name, which is added if missing; its function has the same id.
    fn location(&mut self, name: &str) -> u64 {
        let name = self.string(name);
        if let Some(known) = self.function.iter().find(|function| function.name == name) {
            return known.id;
        }
        let id = self.function.len() as u64 + 1;
        self.function.push(Function { id, name });
        self.location.push(Location { id, line: vec![Line { function_id: id }] });
        id
    }
}
