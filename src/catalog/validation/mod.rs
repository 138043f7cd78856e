//! The shipped catalogue and its predictions against what others measured.
//!
//! Every test prints all its rows when it fails, so that a refit shows what else moves.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod cold_starts;
mod decode;
mod memory;
mod prefill;
mod tables;

use super::Catalog;
use super::performance::{Deployment, Performance};
use std::fmt::Write as _;

fn performance(catalog: &Catalog, deployment: &Deployment<'_>) -> Performance {
    catalog
        .performance(deployment)
        .unwrap_or_else(|problem| panic!("{deployment:?}: {problem}"))
}

fn on<'a>(model: &'a str, gpu: &'a str, gpus: u32, format: &'a str) -> Deployment<'a> {
    Deployment {
        format: Some(format),
        ..Deployment::new(model, gpu, gpus)
    }
}

/// Rows of name, found and expected value; fails with all of them if one is off by more than `bound`.
struct Rows {
    bound: f64,
    text: String,
    worst: f64,
}

impl Rows {
    fn within(bound: f64) -> Self {
        Self {
            bound,
            text: String::new(),
            worst: 0.0,
        }
    }

    fn add(&mut self, name: &str, found: f64, expected: f64) {
        let error = found / expected - 1.0;
        self.worst = self.worst.max(error.abs());
        writeln!(
            self.text,
            "{name:48} {found:12.5} {expected:12.5} {:+7.1} %",
            error * 100.0
        )
        .unwrap();
    }

    fn check(&self) {
        println!("{}", self.text);
        assert!(
            self.worst <= self.bound,
            "worst {:.3} of {:.3}\n{}",
            self.worst,
            self.bound,
            self.text
        );
    }
}
