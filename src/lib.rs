//! thermocline
pub mod measure;
pub mod observation;
pub mod request;
pub mod stats;
pub mod streams;
pub mod target;
pub mod time;
