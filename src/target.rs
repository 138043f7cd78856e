//! The one seam between measuring and what is measured.
//!
//! A [`Target`] takes requests and later says what a client saw of them. Time belongs to the target: a simulated fleet moves a
//! virtual clock, an HTTP client waits on the wall clock; the measuring loop ([`crate::measure::drive`]) is the same for both.
//!
//! There is no `Result` here. What cannot be reached at all is the constructor's error; a request that fails, is refused or
//! times out *during* a run is an [`Observation`] with that outcome, because a benchmark must count it.

use crate::observation::Observation;
use crate::request::Request;
use crate::time::Time;

/// Something that answers requests.
pub trait Target {
    /// The present instant, from the run's origin.
    fn now(&self) -> Time;

    /// Sends a request now. Never blocks. Its `due` is not later than [`Target::now`].
    fn submit(&mut self, request: Request);

    /// Lets time pass until a submitted request has ended (returned, at most one a call) or `until` is reached (`None`).
    /// What happens at `until` itself may be left for later, so that a request submitted then takes its place in that
    /// instant. An instant already past returns at once.
    fn advance(&mut self, until: Time) -> Option<Observation>;
}
