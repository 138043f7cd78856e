//! Calibration: from a measurement to the decisions behind it, and how surely.
//!
//! ```text
//!  Series: what was measured ──> Lens ─────────────> statistics ──┐
//!                                  │                              v
//!  Free: what may differ ──> Simulator ─> Seen ──> statistics ─> search ─> Posterior ─> predict: would it have given this?
//! ```
//!
//! The core knows no scenario: it is handed a [`Maker`](observed::Maker) that turns values into a plan.

pub mod design;
pub mod distance;
pub mod free;
mod linear;
pub mod observed;
pub mod optimum;
pub mod posterior;
pub mod predict;
pub mod search;
pub mod starts;
pub mod suggest;
pub mod trials;
