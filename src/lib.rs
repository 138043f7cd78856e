//! thermocline
pub mod calendar;
pub mod distribution;
pub mod observation;
pub mod request;
pub mod streams;
pub mod target;
pub mod time;
pub mod workload;
