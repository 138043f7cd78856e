//! thermocline
pub mod observation;
pub mod request;
pub mod scenario;
pub mod streams;
pub mod target;
pub mod time;
