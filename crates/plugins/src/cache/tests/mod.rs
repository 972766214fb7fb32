//! Tests of a cache in front of a scripted source, with a clock that tests advance.

mod bypass;
mod cacheability;
mod coalesce;
mod fixture;
mod insert;
mod metrics;
mod prefetch;
mod reload;
mod setup;
mod stale;
mod store;
