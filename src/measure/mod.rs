//! What a benchmark says of the requests it sent, whatever answered them.

pub mod feasible;
pub mod summary;
pub mod verdict;
