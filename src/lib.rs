//! thermocline
pub mod batching;
pub mod calendar;
pub mod catalog;
pub mod cli;
pub mod distribution;
pub mod experiment;
pub mod fleet;
pub mod measure;
pub mod observation;
pub mod report;
pub mod request;
pub mod scenario;
pub mod stats;
pub mod streams;
pub mod target;
pub mod time;
pub mod workload;
