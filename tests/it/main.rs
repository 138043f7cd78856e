//! Integration tests, in one binary.

mod article;
mod cases;
mod catalogue;
mod cli;
mod determinism;
mod http;
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
mod sweep;
mod theory;
mod tidy;
