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

/// Whether the peer ended in the middle of a message.
pub(super) fn is_cut(error: &hyper::Error) -> bool {
    let mut inputs = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    error.is_incomplete_message()
        || inputs.any(|cause| cause.kind() == io::ErrorKind::UnexpectedEof)
}
