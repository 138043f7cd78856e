//! Demand: when requests come and how long they are.

pub mod arrivals;
pub mod curve;
pub mod replay;

pub use arrivals::{ArrivalProcess, Arrivals, Pattern};
pub use curve::Curve;
pub use replay::Replay;
