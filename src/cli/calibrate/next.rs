//! `--suggest`: which measurement next.

use anyhow::bail;
use clap::Args;
use rayon::ThreadPool;

use crate::calibrate::observed::Simulator;
use crate::calibrate::posterior::Posterior;
use crate::calibrate::suggest::{Question, Suggestion, most_simulations, suggest};
use crate::cli::options::{duration, whole};
use crate::cli::terminal::Terminal;
use crate::experiment::Plan;
use crate::measure::protocol::Protocol;
use crate::report::calibrate::SuggestionReport;
use crate::time::Duration;

/// What is to be measured next.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Next measurement")]
pub(super) struct Next {
    /// Say which gaps of the next N requests would tell most, as a `measure` command
    ///
    /// Without a measurement, from what the scenario allows alone.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(5..=10_000))]
    suggest: Option<u32>,
    /// Only plans whose gaps take no longer together
    #[arg(long, value_name = "SPAN", value_parser = duration, requires = "suggest")]
    within: Option<Duration>,
}

/// Whom it is of, and what is known.
pub(super) struct Known<'a> {
    /// Provider and deployment.
    pub(super) target: (usize, u32),
    pub(super) posterior: Option<&'a Posterior>,
    pub(super) simulations: u64,
}

/// What was found.
pub(super) struct Found {
    protocol: Protocol,
    model: String,
    measured: usize,
    suggestion: Suggestion,
}

impl Next {
    /// Whether plans are asked for.
    pub(super) fn is_asked(self) -> bool {
        self.suggest.is_some()
    }

    /// Finds plans and shows how far that is.
    pub(super) fn found(
        self,
        known: &Known<'_>,
        simulator: &Simulator<'_>,
        plan: &Plan,
        pool: &ThreadPool,
        terminal: &Terminal,
    ) -> anyhow::Result<Found> {
        let requests = self.suggest.unwrap_or(plan.benchmark.requests);
        let protocol = Protocol {
            requests,
            concurrency: 1,
            jitter: Duration::ZERO,
            ..plan.benchmark.clone()
        };
        let (provider, deployment) = known.target;
        let question = Question {
            free: simulator.free,
            maker: simulator.maker,
            posterior: known.posterior,
            provider,
            deployment,
            at: plan.sessions[0].at,
            protocol: &protocol,
            within: self.within,
            seed: plan.seed,
            simulations: known.simulations,
        };
        let steps = most_simulations(known.simulations);
        let suggestion =
            terminal.progress(steps, |step| pool.install(|| suggest(&question, step)))?;
        if suggestion.plans.is_empty() {
            bail!(
                "no plan of {requests} requests is over so soon\nhelp: give --within more time, or ask for fewer requests"
            );
        }
        let deployments = &plan.providers[provider].fleet.deployments;
        Ok(Found {
            model: deployments[deployment as usize].name.clone(),
            measured: simulator.series.len(),
            protocol,
            suggestion,
        })
    }
}

impl Found {
    pub(super) fn report<'a>(&'a self, name: &'a str, plan: &'a Plan) -> SuggestionReport<'a> {
        SuggestionReport {
            name,
            plan,
            model: &self.model,
            protocol: &self.protocol,
            measured: self.measured,
            suggestion: &self.suggestion,
        }
    }
}
