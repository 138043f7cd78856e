//! Integration tests, in one binary.

mod analyze;
mod article;
mod cases;
mod catalogue;
mod cli;
mod determinism;
mod http;
mod import;
mod journal;
mod measure;
mod oci;
mod oracle;
mod peers;
mod physics;
mod properties;
mod readme;
mod reference;
mod support;
mod theory;
mod tidy;
