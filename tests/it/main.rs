//! Integration tests, in one binary.

mod article;
mod cases;
mod catalogue;
mod cli;
mod determinism;
mod metamorphic;
mod oci;
mod physics;
mod properties;
mod readme;
mod support;
mod theory;
mod tidy;
