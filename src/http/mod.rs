//! A real server as a [`Target`](crate::target::Target): OpenAI-compatible endpoints over HTTP, with streamed answers.
//!
//! The headline TTFT runs from when the last byte of the request was handed to the socket to the read that completed the first
//! token on any channel; every other instant that some client starts or stops at stands beside it
//! ([`Timeline`](crate::timeline::Timeline)).
//!
//! What the client does not do, because it would measure something else: repeat a request, follow a redirect, ask for
//! compression, wait to send (Nagle), take a proxy from the environment, keep a connection that the server may be closing.
//!
//! Invariants: a read is stamped before it is looked at; nothing that a peer sends makes the client panic or grow without
//! bound; no key is in any `Debug`, error or message.

mod address;
mod answer;
mod chunk;
mod clock;
pub mod conformance;
mod connect;
mod endpoint;
mod exchange;
mod retry_after;
mod route;
pub mod scripted;
mod secret;
pub mod selftest;
pub mod sse;
mod stamped;
mod target;

pub use clock::Clock;
pub use endpoint::{ApiKind, ConnectionPolicy, Endpoint, Limits, OutputLimit};
pub use route::SetupError;
pub use secret::{Secret, SecretError};
pub use target::{Sink, Target};
