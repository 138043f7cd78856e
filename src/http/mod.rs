//! A real server as a [`Target`](crate::target::Target): an OpenAI-compatible endpoint over HTTP, timed to the microsecond.

mod endpoint;
mod secret;

pub use endpoint::{ApiKind, ConnectionPolicy, Endpoint, Limits, OutputLimit};
pub use secret::{Secret, SecretError};
