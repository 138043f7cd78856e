//! Demand: when requests come, how long they are, and for which model.

pub mod arrivals;
pub mod curve;
pub mod popularity;
pub mod replay;

pub use arrivals::{ArrivalProcess, Arrivals, Pattern};
pub use curve::Curve;
pub use popularity::{Popularity, Tier};
pub use replay::Replay;
