//! Integration tests, in one binary.

mod article;
mod cases;
mod cli;
mod determinism;
mod properties;
mod support;
mod theory;
mod tidy;
