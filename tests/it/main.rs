//! Integration tests, in one binary.

mod analyze;
mod article;
mod cases;
mod catalogue;
mod cli;
mod determinism;
mod http;
mod import;
mod measure;
mod metamorphic;
mod oci;
mod peers;
mod physics;
mod properties;
mod readme;
mod support;
mod theory;
mod tidy;
