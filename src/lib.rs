//! Seeing what serverless LLM inference hides.
//!
//! thermocline simulates fleets that serve language models - replicas, warm pools, cold starts, GPU tiers, weight formats,
//! batching queues, traffic - and sends through them the benchmark that a buyer would make. It reports what that benchmark
//! would have said, beside what really happened.
//!
//! # Bird's-eye view
//!
//! ```text
//!  scenarios/*.toml
//!        |                                                                       a run folder
//!        v                                                                            ^
//!  +----------+  Plan  +------------+        +------------------+  observations  +---------+
//!  | scenario | -----> | experiment | -----> | measure::drive   | -------------> | measure | --> report --> stdout
//!  +----------+        +------------+        |   |         ^    |                +---------+
//!        ^                   |               |   v submit  | advance                  |
//!   catalog: GPUs,           |               | +---------------+                      |
//!   formats, engines,        |  Fleet::new   | | dyn Target    |   stats: quantiles, intervals, CV
//!   models, sources          +-------------->| | = fleet       |
//!                                            | +---------------+
//!                                            +--------|---------+
//!                                                     | probe (only the simulator knows): replicas, parts of a TTFT, cost
//!                                                     v
//!                                              experiment::watch --> "what really happened"
//! ```
//!
//! Two streams leave a target and never mix: [`observation`]s, which any client could make, and fleet events, which only the
//! simulator has ([`fleet::probe`]). The benchmark's own requests cross the [`target::Target`] seam; all other users' demand
//! lives inside the fleet.
//!
//! A real benchmark takes the same loop: [`targets`] says whom to ask, [`http`] is the target, and [`journal`] keeps each answer
//! before the next request is sent.
//!
//! # Invariants
//!
//! 1. The core (values, mathematics, demand, fleet, measurement) does no I/O, reads no clock, prints nothing, starts no threads
//!    and cannot fail: bad input is refused by [`scenario`], a bug is an assertion.
//! 2. Imports point one way: a group of modules below uses only the groups above it and itself. [`fleet`] knows neither [`measure`] nor [`scenario`];
//!    [`measure`] sees a target only through [`target::Target`].
//! 3. Core types have no serialised form; files and JSON have structs of their own, next to their format.
//! 4. Randomness comes only from [`streams`], by name. A request's draws are its own, so two policies meet the same demand.
//! 5. Events of one instant have a stated order ([`fleet`]); nothing iterates over a hash map. A seed and a version reproduce
//!    every byte on any number of threads.
//! 6. Only the terminal module of [`cli`] owns stdout and stderr.
//!
//! `tests/it/tidy.rs` reads the sources and holds 1, 2 and 6; `tests/it/determinism.rs` holds 5.
//!
//! # Example
//!
//! A model that needs 23 seconds to start, and one request:
//!
//! ```
//! use thermocline::experiment::{Keep, Run, run};
//! use thermocline::scenario::{self, Overrides};
//!
//! let text = r#"
//!     time.warm_up = "0s"
//!     benchmark = { requests = 1, discard = 0 }
//!     [providers.acme.deployments.niche]
//!     service.slots = { prefill = "300ms", decode = "1s" }
//!     cold_start = { container = "3s", load_weights = "20s" }
//! "#;
//! let (plan, _) = scenario::load("example", text, &Overrides::default())?;
//! let result = run(&plan, Run { provider: 0, session: 0, replication: 0 }, Keep::default());
//! let (seen, _) = &result.lanes[0].requests[0];
//! assert_eq!(seen.ttft().map(|ttft| ttft.as_secs()), Some(23.3));
//! # Ok::<(), scenario::ScenarioError>(())
//! ```

// Values.
pub mod observation;
pub mod request;
pub mod start_phase;
pub mod target;
pub mod theory;
pub mod time;
pub mod timeline;

// Mathematics.
pub mod distribution;
pub mod stats;
pub mod streams;

// What a provider has, and how a replica works.
pub mod batching;
pub mod catalog;

// Demand.
pub mod workload;

// The simulated target.
pub mod billing;
pub mod calendar;
pub mod fleet;
pub mod policy;

// The real target.
pub mod http;

// Measurement.
pub mod calibrate;
pub mod experiment;
pub mod measure;

// Boundaries.
pub mod cli;
pub mod foreign;
pub mod import;
pub mod journal;
pub mod record;
pub mod report;
pub mod scenario;
pub mod serve;
pub mod targets;
pub mod trace;
pub mod validation;
