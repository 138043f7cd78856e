//! Integration tests, in one binary.

mod article;
mod cases;
mod catalogue;
mod cli;
mod determinism;
mod journal;
mod oci;
mod oracle;
mod physics;
mod properties;
mod readme;
mod reference;
mod support;
mod theory;
mod tidy;
