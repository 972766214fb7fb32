//! dnstap.proto as structs, for tests that decode the output of `record.rs`.

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Dnstap {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub identity: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub version: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub extra: Option<Vec<u8>>,
    #[prost(message, optional, tag = "14")]
    pub message: Option<Message>,
    #[prost(int32, required, tag = "15")]
    pub kind: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Message {
    #[prost(int32, required, tag = "1")]
    pub kind: i32,
    #[prost(int32, optional, tag = "2")]
    pub socket_family: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub socket_protocol: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub query_address: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "5")]
    pub response_address: Option<Vec<u8>>,
    #[prost(uint32, optional, tag = "6")]
    pub query_port: Option<u32>,
    #[prost(uint32, optional, tag = "7")]
    pub response_port: Option<u32>,
    #[prost(uint64, optional, tag = "8")]
    pub query_time_sec: Option<u64>,
    #[prost(fixed32, optional, tag = "9")]
    pub query_time_nsec: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "10")]
    pub query_message: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "11")]
    pub query_zone: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "12")]
    pub response_time_sec: Option<u64>,
    #[prost(fixed32, optional, tag = "13")]
    pub response_time_nsec: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "14")]
    pub response_message: Option<Vec<u8>>,
}
