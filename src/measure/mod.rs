//! What a benchmark says of the requests it sent, whatever answered them.

pub mod analysis;
pub mod censored;
pub mod compare;
pub mod detect;
pub mod drive;
pub mod feasible;
pub mod protocol;
pub mod reported;
pub mod split;
pub mod summary;
pub mod verdict;
