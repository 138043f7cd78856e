//! What a benchmark says of the requests it sent, whatever answered them.

pub mod drive;
pub mod feasible;
pub mod protocol;
pub mod summary;
pub mod verdict;
