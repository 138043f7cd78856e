//! Errors of a connection, in words and by what they mean.

use std::error::Error;
use std::io;

/// An error with its causes.
pub(super) fn said(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<String> = causes(error).map(ToString::to_string).collect();
    said.dedup();
    said.join(": ")
}

/// An error, what caused it, and so on.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Whether a connection that was being set up ended by the peer's doing: refused, reset or closed.
pub(super) fn is_of_peer(error: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, UnexpectedEof};
    let mut inputs = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    inputs.any(|cause| {
        matches!(
            cause.kind(),
            ConnectionRefused | ConnectionReset | UnexpectedEof
        )
    })
}

/// Whether the peer ended in the middle of a message.
pub(super) fn is_cut(error: &hyper::Error) -> bool {
    let mut inputs = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    error.is_incomplete_message()
        || inputs.any(|cause| cause.kind() == io::ErrorKind::UnexpectedEof)
}
