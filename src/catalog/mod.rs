//! What hardware, software and platforms there are: GPU tiers, weight formats, engines, storage, models, presets.
//!
//! The shipped tables are the files under `data/`; every entry names its source and how far to trust it. A scenario may change
//! single keys of an entry or add entries ([`Catalog::overlay`]), in the same words. From these [`performance`] predicts the
//! time of a prefill and of a decode step, and [`start`] the phases of a cold start.
//!
//! Sources: public specifications, kernel timings, repositories and posts, named per entry.

mod entries;
mod shelf;
#[cfg(test)]
mod validation;

pub mod performance;
pub mod start;

pub use entries::{
    AllReduce, ColdLinear, ColdPhase, Compute, Confidence, Defaults, Efficiency, Engine, Format,
    Gpu, GpuRatio, Investment, Measured, Model, ModelKind, Network, Policy, ProviderTtft, Scope,
    Speculation, Storage, TtftByConcurrency,
};
pub use shelf::{Entry, EntryProblem, Shelf};

use shelf::AnyShelf;

/// Declares the catalogue: one shelf per kind, with the file that fills it.
macro_rules! catalog {
    ( $( $(#[$doc:meta])* $field:ident : $type:ty = $kind:literal from $file:literal; )* ) => {
        /// Everything known, by kind and name. See the [module](self) text.
        #[derive(Clone, Debug)]
        pub struct Catalog {
            $( $(#[$doc])* pub $field: Shelf<$type>, )*
        }

        impl Catalog {
            /// The kinds, as written in scenarios and on the command line.
            pub const fn kinds() -> &'static [&'static str] {
                &[ $( $kind, )* ]
            }

            /// The shipped catalogue. A malformed table would panic when its kind is first asked for, which a test excludes.
            pub const fn shipped() -> Self {
                Self {
                    $( $field: Shelf::shipped($kind, include_str!(concat!("data/", $file, ".toml"))), )*
                }
            }

            fn shelf(&self, kind: &str) -> Option<&dyn AnyShelf> {
                match kind {
                    $( $kind => Some(&self.$field), )*
                    _ => None,
                }
            }

            fn shelf_mut(&mut self, kind: &str) -> Option<&mut dyn AnyShelf> {
                match kind {
                    $( $kind => Some(&mut self.$field), )*
                    _ => None,
                }
            }
        }
    };
}

catalog! {
    /// GPU tiers.
    gpus: Gpu = "gpu" from "gpus";
    /// Weight formats.
    formats: Format = "format" from "formats";
    /// Shares of the data sheet reached, per GPU and format; named `gpu/format`.
    efficiencies: Efficiency = "efficiency" from "efficiencies";
    /// Inference engines.
    engines: Engine = "engine" from "engines";
    /// Speculative decoding.
    speculations: Speculation = "speculation" from "speculations";
    /// Where weights come from.
    storages: Storage = "storage" from "storage";
    /// Phases of a cold start.
    cold_phases: ColdPhase = "cold_phase" from "cold_phases";
    /// Models.
    models: Model = "model" from "models";
    /// Network and gateway.
    networks: Network = "network" from "networks";
    /// Scaling presets of known platforms.
    policies: Policy = "policy" from "policies";
    /// Rules that spread a catalogue's warm replicas.
    investments: Investment = "investment" from "investments";
    /// All-reduce times.
    allreduces: AllReduce = "allreduce" from "allreduces";
    /// Scalars of the performance model: the entry `performance`.
    defaults: Defaults = "defaults" from "defaults";
    /// End-to-end cold starts, for validation.
    cold_starts_measured: Measured = "cold_start_measured" from "cold_starts_measured";
    /// Engine start-ups, for validation.
    engine_startups_measured: Measured = "engine_startup_measured" from "engine_startups_measured";
    /// Providers' TTFT, for validation.
    provider_ttfts: ProviderTtft = "provider_ttft" from "provider_ttfts";
    /// TTFT by concurrency, for validation.
    ttft_by_concurrency: TtftByConcurrency = "ttft_vs_concurrency" from "ttft_vs_concurrency";
    /// H100 against A100, for validation.
    gpu_ratios: GpuRatio = "gpu_ratio" from "gpu_ratios";
    /// Cold TTFT against bytes, for validation.
    cold_linear: ColdLinear = "cold_linear" from "cold_linear";
}

/// An entry for printing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<'a> {
    /// Keys and values as written, in order; source, confidence and note included.
    pub rows: Vec<(String, String)>,
    /// Where the figures come from.
    pub source: &'a str,
    /// How far to trust them.
    pub confidence: Confidence,
}

impl Catalog {
    /// Names of the entries of a kind, in the order they were written; empty for a kind that does not exist.
    pub fn ids(&self, kind: &str) -> Vec<&str> {
        self.shelf(kind).map(AnyShelf::ids).unwrap_or_default()
    }

    /// One entry as rows.
    pub fn listing(&self, kind: &str, id: &str) -> Option<Listing<'_>> {
        let shelf = self.shelf(kind)?;
        let (source, confidence) = shelf.provenance(id)?;
        Some(Listing {
            rows: shelf.rows(id)?,
            source,
            confidence,
        })
    }

    /// Changes keys of a known entry, or adds a new one, as a scenario asks.
    ///
    /// Its source becomes "scenario" and its confidence `stated`, unless the changes name others.
    ///
    /// # Errors
    /// If the kind or a key does not exist, a value has the wrong type or range, or a new entry lacks keys.
    /// The catalogue is then unchanged.
    pub fn overlay(
        &mut self,
        kind: &str,
        id: &str,
        changes: &toml::Table,
    ) -> Result<(), Vec<EntryProblem>> {
        match self.shelf_mut(kind) {
            Some(shelf) => shelf.overlay(id, changes),
            None => Err(vec![
                EntryProblem::new(
                    kind,
                    id,
                    format!("there is no kind {kind} in the catalogue"),
                )
                .help(format!("kinds are {}", Self::kinds().join(", "))),
            ]),
        }
    }

    /// The scalars of the performance model.
    ///
    /// # Panics
    /// Never: the shipped table has them and an overlay cannot take them away.
    pub fn scalars(&self) -> &Defaults {
        match self.defaults.get("performance") {
            Some(defaults) => defaults,
            None => unreachable!("the table of defaults has one entry"),
        }
    }

    /// What a GPU reaches with a format: its row, the row of the format it resembles, or a share of the GPU's BF16 row.
    ///
    /// Weight-only formats run at the 16-bit rate and get 97 % of the BF16 row in prefill (measured .9 to 1.1) and 55 % of its
    /// bandwidth; a 4-bit float that this GPU must dequantise is treated like them. The other shares are the measured rows
    /// of neighbours against their BF16 row.
    pub fn efficiency(&self, gpu: &Gpu, format: &Format) -> Efficiency {
        let dequantised = !native(gpu, format) && format.fallback_compute.is_some();
        let like = if dequantised {
            Some("int4-w4a16")
        } else {
            format.efficiency_like.as_deref()
        };
        let row = |format: &str| self.efficiencies.get(&format!("{}/{format}", gpu.id));
        let own = if dequantised { None } else { row(&format.id) };
        own.or_else(|| like.and_then(row))
            .cloned()
            .unwrap_or_else(|| self.derived_efficiency(gpu, format, dequantised))
    }

    /// A share of the GPU's BF16 row, or of a generic one.
    fn derived_efficiency(&self, gpu: &Gpu, format: &Format, dequantised: bool) -> Efficiency {
        let scalars = self.scalars();
        let (prefill, n_half, bandwidth, base) =
            match self.efficiencies.get(&format!("{}/bf16", gpu.id)) {
                Some(row) => (
                    row.prefill_eff_max,
                    row.prefill_n_half_tokens,
                    row.decode_weight_bw_eff,
                    row.id.clone(),
                ),
                None => (
                    scalars.generic_prefill_eff,
                    scalars.generic_n_half_tokens,
                    scalars.generic_bw_eff,
                    "a generic GPU".to_owned(),
                ),
            };
        let (of_prefill, of_bandwidth) = match format.compute {
            _ if format.weight_only || dequantised => (
                scalars.weight_only_prefill_factor,
                scalars.weight_only_bw_factor,
            ),
            Compute::Bf16 => (1.0, 1.0),
            Compute::Fp8 => (scalars.fp8_prefill_factor, scalars.fp8_bw_factor),
            Compute::Int8 => (scalars.int8_prefill_factor, scalars.int8_bw_factor),
            Compute::Fp4 => (scalars.fp4_prefill_factor, scalars.fp4_bw_factor),
        };
        Efficiency {
            id: format!("{}/{}", gpu.id, format.id),
            gpu: gpu.id.clone(),
            format: format.id.clone(),
            prefill_eff_max: prefill * of_prefill,
            prefill_n_half_tokens: n_half,
            decode_weight_bw_eff: bandwidth * of_bandwidth,
            source: format!("scaled from {base}"),
            confidence: Confidence::Estimate,
            note: None,
        }
    }
}

/// Whether the GPU's tensor cores take the format without dequantising.
pub(crate) fn native(gpu: &Gpu, format: &Format) -> bool {
    match format.compute {
        Compute::Bf16 => true,
        Compute::Fp8 => gpu.fp8_dense_tflops.is_some(),
        Compute::Int8 => gpu.int8_dense_tops.is_some(),
        Compute::Fp4 => gpu.fp4_dense_tflops.is_some() && gpu.fp4_formats.contains(&format.id),
    }
}
