//! thermocline
pub mod batching;
pub mod calendar;
pub mod distribution;
pub mod fleet;
pub mod observation;
pub mod request;
pub mod scenario;
pub mod streams;
pub mod target;
pub mod time;
pub mod workload;
