//! The real client against servers whose every byte and instant is known.

mod cases;
mod connections;
mod faults;
mod load;
mod rig;
mod secrets;
mod selftest;
mod streams;
