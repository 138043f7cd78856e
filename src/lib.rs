//! thermocline
pub mod catalog;
pub mod observation;
pub mod request;
pub mod streams;
pub mod target;
pub mod time;
