//! Integration tests, in one binary.

mod cases;
mod determinism;
mod properties;
mod support;
mod theory;
mod tidy;
