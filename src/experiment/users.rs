//! What all users of a deployment met: figures of replications taken together, and of each by itself.
//!
//! A figure is that of all replications together, never a mean of percentiles; its interval comes from how the replications'
//! own figures lie around it ([`Estimate::by_sections`]). Settings that met the same demand are compared in pairs: the
//! interval of a difference comes from the differences of each replication, so what both owe to the demand cancels.

use std::ops::Range;

use rayon::prelude::*;

use super::{Did, Keep, Plan, Run, RunResult, run};
use crate::measure::summary::CONFIDENCE;
use crate::stats::{Estimate, Histogram, Interval, student_t_probability};
use crate::time::Duration;

/// What is said of all users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Median TTFT \[s\].
    TtftP50,
    /// 95 % quantile of the TTFT \[s\].
    TtftP95,
    /// 99 % quantile of the TTFT \[s\].
    TtftP99,
    /// Standard deviation over mean of the TTFT [%].
    Cv,
    /// Requests that waited for a replica which was not ready [%].
    ColdRequests,
    /// Requests without an answer [%].
    Unanswered,
    /// GPU-hours held in the window, whatever for.
    GpuHours,
    /// Cost of the window \[USD\].
    Cost,
}

impl Figure {
    /// All of them, in the order of results.
    pub const ALL: [Self; 8] = [
        Self::TtftP50,
        Self::TtftP95,
        Self::TtftP99,
        Self::Cv,
        Self::ColdRequests,
        Self::Unanswered,
        Self::GpuHours,
        Self::Cost,
    ];

    /// Its name in results, and the unit that ends its key.
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::TtftP50 => ("ttft_p50", "_s"),
            Self::TtftP95 => ("ttft_p95", "_s"),
            Self::TtftP99 => ("ttft_p99", "_s"),
            Self::Cv => ("cv", "_percent"),
            Self::ColdRequests => ("cold_requests", "_percent"),
            Self::Unanswered => ("unanswered", "_percent"),
            Self::GpuHours => ("total", "_gpu_hours"),
            Self::Cost => ("cost", "_usd"),
        }
    }
}

/// The account of one deployment, or of several, in one replication or several taken together.
#[derive(Clone, Debug, Default)]
pub struct Account {
    replications: f64,
    ttft: Histogram,
    arrived: u64,
    cold: u64,
    unanswered: u64,
    gpu_hours: f64,
    cost_usd: f64,
    window: Duration,
}

impl Account {
    /// One replication's account of all deployments.
    pub fn of_all(fleet: &[Did]) -> Self {
        Self::of(fleet, 0..fleet.len() as u32)
    }

    /// One replication's account of some deployments.
    pub fn of(fleet: &[Did], deployments: impl IntoIterator<Item = u32>) -> Self {
        let mut account = Self {
            replications: 1.0,
            ..Self::default()
        };
        for index in deployments {
            let did = &fleet[index as usize];
            account.join(did);
            // Deployments share one window; replications each have their own.
            account.window = did.ledger.window;
        }
        account
    }

    fn join(&mut self, did: &Did) {
        let ledger = &did.ledger;
        self.ttft.merge(&did.ttft);
        self.arrived += ledger.arrived;
        self.cold += ledger.cold_requests;
        self.unanswered += ledger.rejected() + ledger.timed_out + ledger.failed;
        self.gpu_hours += ledger.gpu_hours().iter().sum::<f64>();
        self.cost_usd += ledger.cost_usd();
    }

    /// Takes another replication in.
    pub fn add(&mut self, other: &Self) {
        self.merge(other);
        self.replications += other.replications;
        self.window += other.window;
    }

    /// Takes another deployment's account of the same replications in.
    pub fn merge(&mut self, other: &Self) {
        self.ttft.merge(&other.ttft);
        self.arrived += other.arrived;
        self.cold += other.cold;
        self.unanswered += other.unanswered;
        self.gpu_hours += other.gpu_hours;
        self.cost_usd += other.cost_usd;
    }

    /// A figure of this account; `None` where there was nothing to count. Of several replications, costs are means.
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        let percent = |part: u64| {
            let share = part as f64 / self.arrived as f64;
            (self.arrived > 0).then_some(100.0 * share)
        };
        match figure {
            Figure::TtftP50 => self.quantile(0.50),
            Figure::TtftP95 => self.quantile(0.95),
            Figure::TtftP99 => self.quantile(0.99),
            Figure::Cv => self.ttft.cv().map(|cv| 100.0 * cv),
            Figure::ColdRequests => percent(self.cold),
            Figure::Unanswered => percent(self.unanswered),
            Figure::GpuHours => Some(self.gpu_hours / self.replications),
            Figure::Cost => Some(self.cost_usd / self.replications),
        }
    }

    /// Requests that arrived.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// A single request as a share of all [%].
    fn request_percent(&self) -> f64 {
        100.0 / self.arrived.max(1) as f64
    }

    fn quantile(&self, p: f64) -> Option<f64> {
        self.ttft.quantile(p).map(Duration::as_secs)
    }
}

/// The figures of all replications together, and of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Users {
    whole: Figures,
    parts: Vec<Figures>,
    /// What a single request is of all of them, in all replications together and in each [%].
    request: (f64, Vec<f64>),
    /// Mean length of the window \[h\].
    pub window_hours: f64,
}

/// Figures in the order of [`Figure::ALL`].
type Figures = [Option<f64>; Figure::ALL.len()];

impl Users {
    /// The figures of these replications' accounts.
    pub fn of(accounts: &[Account]) -> Self {
        let mut whole = Account::default();
        for account in accounts {
            whole.add(account);
        }
        let figures = |account: &Account| Figure::ALL.map(|figure| account.figure(figure));
        Self {
            whole: figures(&whole),
            parts: accounts.iter().map(figures).collect(),
            request: (
                whole.request_percent(),
                accounts.iter().map(Account::request_percent).collect(),
            ),
            window_hours: whole.window.as_secs() / 3600.0 / whole.replications.max(1.0),
        }
    }

    /// A figure of all replications together.
    pub fn point(&self, figure: Figure) -> Option<f64> {
        self.whole[figure as usize]
    }

    /// A figure with its 95 % interval.
    pub fn estimate(&self, figure: Figure) -> Option<Estimate> {
        self.estimate_at(figure, CONFIDENCE)
    }

    /// A figure with its interval at a stated confidence.
    pub fn estimate_at(&self, figure: Figure, confidence: f64) -> Option<Estimate> {
        let parts: Vec<f64> = self.each(figure).flatten().collect();
        Some(estimated(self.point(figure)?, &parts, confidence))
    }

    /// The figure of each replication.
    pub fn each(&self, figure: Figure) -> impl Iterator<Item = Option<f64>> {
        self.parts.iter().map(move |part| part[figure as usize])
    }

    /// By how much a figure of `self` is above that of `reference`, replication by replication; `None` where one has none.
    pub fn above(&self, reference: &Self, figure: Figure) -> Option<Difference> {
        let pairs = self.each(figure).zip(reference.each(figure));
        let parts: Vec<f64> = pairs
            .zip(&self.request.1)
            .filter_map(|((own, other), request)| Some(between(figure, own?, other?, *request)))
            .collect();
        let whole = between(
            figure,
            self.point(figure)?,
            reference.point(figure)?,
            self.request.0,
        );
        Some(Difference::of(whole, &parts))
    }
}

/// By how much a figure is above another.
///
/// A run's window ends with its last benchmarked request, so one side may count a few requests more than the other: the same
/// number of unanswered ones is then another share. What is less than half a request is none.
fn between(figure: Figure, own: f64, other: f64, request_percent: f64) -> f64 {
    let difference = own - other;
    let is_share = matches!(figure, Figure::ColdRequests | Figure::Unanswered);
    if is_share && difference.abs() < 0.5 * request_percent {
        0.0
    } else {
        difference
    }
}

/// A figure that is never negative, with its interval: by logarithms where they exist, for such figures scatter by factors.
fn estimated(whole: f64, parts: &[f64], confidence: f64) -> Estimate {
    if whole > 0.0 && parts.iter().all(|part| *part > 0.0) {
        let logs: Vec<f64> = parts.iter().map(|part| part.ln()).collect();
        let log = Estimate::by_sections(whole.ln(), &logs, confidence);
        let interval = log.interval.map(|one| Interval {
            low: one.low.exp(),
            high: one.high.exp(),
            ..one
        });
        return Estimate {
            point: whole,
            interval,
            ..log
        };
    }
    let plain = Estimate::by_sections(whole, parts, confidence);
    let interval = plain.interval.map(|one| Interval {
        low: one.low.max(0.0),
        ..one
    });
    Estimate { interval, ..plain }
}

/// How much one setting's figure is above another's, both under the same demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference with its interval.
    pub estimate: Estimate,
    /// How probably it is positive, by Student's t over the pairs; a half where nothing differs, `None` from a single pair.
    pub positive: Option<f64>,
}

impl Difference {
    /// The difference of all replications together and those of each.
    pub fn of(whole: f64, parts: &[f64]) -> Self {
        let estimate = Estimate::by_sections(whole, parts, CONFIDENCE);
        let n = parts.len() as f64;
        let positive = (parts.len() > 1).then(|| {
            let squares: f64 = parts.iter().map(|part| (part - whole).powi(2)).sum();
            let error = (squares / (n - 1.0) / n).sqrt();
            match (whole == 0.0, error == 0.0) {
                (true, _) => 0.5,
                (false, true) => f64::from(whole > 0.0),
                (false, false) => student_t_probability(whole / error, n - 1.0),
            }
        });
        Self { estimate, positive }
    }

    /// Which sign is sure; `None` while the interval holds zero, or there is none.
    pub fn sign(&self) -> Option<f64> {
        let interval = self.estimate.interval?;
        let is_sure = self.estimate.point != 0.0 && !interval.contains(0.0);
        is_sure.then_some(self.estimate.point.signum())
    }
}

/// Runs replications of one session at one provider on all cores of the present pool and keeps of each what `keep` takes,
/// so that their runs need not be in memory together. `progress` hears of every run that ends.
pub fn replicated<T: Send>(
    plan: &Plan,
    place: (usize, usize),
    replications: Range<u64>,
    keep: impl Fn(&RunResult) -> T + Sync,
    progress: &(dyn Fn() + Sync),
) -> Vec<T> {
    let (provider, session) = place;
    let job = |replication| {
        let which = Run {
            provider,
            session,
            replication,
        };
        let kept = keep(&run(plan, which, Keep::default()));
        progress();
        kept
    };
    replications.into_par_iter().map(job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(values: &[f64]) -> Users {
        let figures = |value: f64| [Some(value); Figure::ALL.len()];
        Users {
            whole: figures(values.iter().sum::<f64>() / values.len() as f64),
            parts: values.iter().map(|value| figures(*value)).collect(),
            request: (0.1, vec![0.1; values.len()]),
            window_hours: 1.0,
        }
    }

    #[test]
    fn what_pairs_share_cancels() {
        let base = users(&[1.0, 5.0, 9.0, 13.0]);
        let more = users(&[1.5, 5.5, 9.5, 13.5]);
        let difference = more.above(&base, Figure::TtftP95).expect("both have it");
        assert_eq!(difference.estimate.point, 0.5);
        assert_eq!(difference.sign(), Some(1.0));
        assert_eq!(difference.positive, Some(1.0));
        let back = base.above(&more, Figure::TtftP95).expect("both have it");
        assert_eq!((back.sign(), back.positive), (Some(-1.0), Some(0.0)));
        let own = base.above(&base, Figure::TtftP95).expect("both have it");
        assert_eq!((own.sign(), own.positive), (None, Some(0.5)));
    }

    #[test]
    fn less_than_a_request_is_no_difference_of_shares() {
        let base = users(&[1.0, 5.0, 9.0, 13.0]);
        let less = users(&[0.999_99, 4.999_98, 8.999_99, 12.999_98]);
        let found = |figure| less.above(&base, figure).expect("both have it");
        assert_eq!(found(Figure::TtftP95).sign(), Some(-1.0));
        assert_eq!(found(Figure::Unanswered).sign(), None);
        assert_eq!(found(Figure::Unanswered).estimate.point, 0.0);
    }

    #[test]
    fn an_unsure_difference_has_a_probability_and_no_sign() {
        // Differences 1, 2, 3 and mean 2: t = 2 / (1 / sqrt 3) = 3.4641, 2 degrees: 96.29 % (tables of Student's t).
        let difference = Difference::of(2.0, &[1.0, 2.0, 3.0]);
        assert_eq!(difference.sign(), None);
        let positive = difference.positive.expect("three pairs");
        assert!((positive - 0.9629).abs() < 5e-5, "{positive}");
        assert_eq!(Difference::of(2.0, &[2.0]).positive, None);
    }
}
