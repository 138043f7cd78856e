//! Integration tests, in one binary.

mod analyze;
mod article;
mod cases;
mod catalogue;
mod cli;
mod closed_loop;
mod determinism;
mod endpoint;
mod http;
mod import;
mod measure;
mod oci;
mod peers;
mod physics;
mod properties;
mod readme;
mod serve;
mod support;
mod theory;
mod tidy;
