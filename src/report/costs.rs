//! What the provider pays, what its customers are billed, and when a dedicated endpoint is cheaper for them.

use std::io::{self, Write};

use super::Report;
use super::account::Account;
use super::grid::{self, Column};
use super::number;
use super::text::{BOLD, DIM, Named, name_columns, named, text_or, wrapped};
use crate::billing::Billing;
use crate::experiment::Part;

/// An account in money.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Costs {
    /// What the provider pays per answered request \[USD\].
    pub(super) per_request_usd: Option<f64>,
    /// What it pays per million tokens, read and written \[USD\].
    pub(super) per_million_tokens_usd: Option<f64>,
    /// GPU-hours that are billed by time.
    pub(super) billed_gpu_hours: Option<f64>,
    /// What customers are billed \[USD\].
    pub(super) bill_usd: Option<f64>,
    /// What they are billed per answered request \[USD\].
    pub(super) bill_per_request_usd: Option<f64>,
    /// What one replica of the model costs as a dedicated endpoint [USD/h].
    pub(super) dedicated_usd_per_hour: Option<f64>,
    /// Requests per hour above which that is cheaper.
    pub(super) break_even_requests_per_hour: Option<f64>,
    /// Answered requests per hour.
    pub(super) requests_per_hour: Option<f64>,
}

impl Costs {
    pub(super) fn of(report: &Report<'_>, account: &Account) -> Self {
        let provider = &report.plan.providers[account.provider];
        let billing = &provider.billing;
        let ledger = &account.ledger;
        let answered = ledger.succeeded as f64;
        let each = |usd: f64, count: f64| (count > 0.0).then(|| usd / count);
        let bill_usd = billing.bill_usd(ledger);
        let bill_per_request_usd = bill_usd.and_then(|usd| each(usd, answered));
        let gpus = match account.part {
            Part::Deployment(index) => {
                Some(provider.fleet.deployments[index as usize].placements[0].gpus)
            }
            Part::Tier(_) | Part::All => None,
        };
        let tokens = (ledger.prompt_tokens + ledger.output_tokens) as f64;
        Self {
            per_request_usd: each(ledger.cost_usd(), answered),
            per_million_tokens_usd: each(ledger.cost_usd(), tokens / 1e6),
            billed_gpu_hours: billing.time.map(|rule| rule.billed_gpu_hours(ledger)),
            bill_usd,
            bill_per_request_usd,
            dedicated_usd_per_hour: gpus.and_then(|gpus| billing.dedicated_usd_per_hour(gpus)),
            break_even_requests_per_hour: gpus
                .and_then(|gpus| billing.break_even_per_hour(gpus, bill_per_request_usd)),
            requests_per_hour: account.mean_over_window(3600.0 * answered),
        }
    }

    /// Whether a dedicated endpoint would be cheaper for so many requests.
    fn pays(&self) -> Option<bool> {
        Some(self.requests_per_hour? > self.break_even_requests_per_hour?)
    }
}

/// Writes the table, where a provider says how it bills or has a catalogue to compare.
pub(super) fn write(
    report: &Report<'_>,
    accounts: &[Account],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let providers = || report.plan.providers.iter();
    let bills = providers().any(|one| one.billing != Billing::default());
    if !bills && providers().all(|one| one.catalogue.is_none()) {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}What it costs{BOLD:#}")?;
    let mut about =
        "the provider's GPUs; per answered request and per million tokens, read and written"
            .to_owned();
    if bills {
        about += "; the bill is the customers'; dedicated: one replica, used or not, cheaper above so many requests";
    }
    for line in wrapped(&about, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    writeln!(out, "{}", table(report, accounts, bills, width))
}

fn table(report: &Report<'_>, accounts: &[Account], bills: bool, width: usize) -> String {
    let costs: Vec<Costs> = accounts.iter().map(|one| Costs::of(report, one)).collect();
    let owned = named(report, accounts);
    let names: Vec<_> = owned.iter().map(Named::names).collect();
    let paid: Vec<String> = accounts
        .iter()
        .map(|one| number::quantity(one.ledger.cost_usd()))
        .collect();
    let [wide, narrow] = [false, true].map(|narrow| {
        let mut columns = name_columns(&names, narrow);
        columns.push(Column::numbers("cost\nUSD", paid.clone()));
        columns.extend(columns_of(&costs, bills));
        if narrow { grid::sunk(columns) } else { columns }
    });
    grid::fitted(wide, narrow, width, 3)
}

fn columns_of(costs: &[Costs], bills: bool) -> Vec<Column> {
    let numbers = |head: &str, show: fn(&Costs) -> Option<f64>| {
        let cells = costs.iter().map(|one| text_or(show(one), number::quantity));
        Column::numbers(head, cells.collect())
    };
    let mut columns = vec![
        numbers("per 1000\nrequests", |one| {
            Some(1000.0 * one.per_request_usd?)
        }),
        numbers("per M\ntokens", |one| one.per_million_tokens_usd),
    ];
    if bills {
        let pays = costs.iter().map(|one| match one.pays() {
            Some(true) => "yes".to_owned(),
            Some(false) => "no".to_owned(),
            None => number::NONE.to_owned(),
        });
        columns.extend([
            numbers("bill\nUSD", |one| one.bill_usd),
            numbers("requests\n/h", |one| one.requests_per_hour).rank(2),
            numbers("dedicated\nUSD/h", |one| one.dedicated_usd_per_hour).rank(2),
            numbers("breaks even\nat /h", |one| one.break_even_requests_per_hour),
            Column::text("pays", pays.collect()).rank(1),
        ]);
    }
    columns
}
