//! The `thermocline` program.

use std::process::ExitCode;

/// A fleet of hundreds of models is bound by how near its state lies: a catalogue of 400 runs a quarter faster than with glibc's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    thermocline::cli::run(std::env::args_os())
}
