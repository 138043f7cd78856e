//! Cases: troubles that users of comparable systems reported, each as a small scenario whose right answer is known by hand.
//!
//! Tests are named after their case. Everything in them is deterministic unless it says otherwise, so times are compared
//! exactly. `S` is the time for which a request holds its slot.

mod calibrate;
mod catalogue;
mod cold;
mod figures;
mod money;
mod places;
mod planning;
mod queues;
mod ranges;
mod review;
mod scaling;
mod seeds;
mod shared_fleet;
mod traces;
