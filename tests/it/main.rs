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
mod journal;
mod measure;
mod metamorphic;
mod oci;
mod oracle;
mod peers;
mod physics;
mod popularity;
mod properties;
mod readme;
mod reference;
mod serve;
mod support;
mod sweep;
mod theory;
mod tidy;
