//! What a customer is billed, and how that compares with what the provider pays.
//!
//! A provider pays for every GPU-hour of a replica, whatever it does. What it bills is a rule of its own: by time it may leave out
//! starts or idle replicas, by token it leaves time out altogether, and a dedicated endpoint is billed by the hour, used or not.

use crate::fleet::{Activity, Ledger};

/// How a provider bills.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Billing {
    /// By GPU time.
    pub time: Option<TimeRule>,
    /// By token.
    pub tokens: Option<TokenRule>,
    /// What a GPU of a dedicated endpoint costs the customer, used or not [USD/h].
    pub dedicated_usd_per_gpu_hour: Option<f64>,
}

/// Which GPU time is billed, and at what price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeRule {
    /// Whether starts are.
    pub boot: bool,
    /// Whether replicas with work are.
    pub run: bool,
    /// Whether replicas without work are.
    pub idle: bool,
    /// What a billed GPU-hour costs [USD/h].
    pub usd_per_gpu_hour: f64,
}

/// What tokens cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenRule {
    /// Of prompts [USD per million].
    pub input_usd_per_million: f64,
    /// Of answers [USD per million].
    pub output_usd_per_million: f64,
}

impl TimeRule {
    /// GPU-hours that are billed.
    pub fn billed_gpu_hours(&self, ledger: &Ledger) -> f64 {
        let hours = ledger.gpu_hours();
        let billed = Activity::ALL.into_iter().filter(|activity| match activity {
            Activity::Starting => self.boot,
            Activity::Busy | Activity::Draining => self.run,
            Activity::Idle => self.idle,
        });
        billed.map(|activity| hours[activity as usize]).sum()
    }
}

impl Billing {
    /// What the users of this account are billed \[USD\]; `None` where the provider states no rule.
    pub fn bill_usd(&self, ledger: &Ledger) -> Option<f64> {
        let time = self
            .time
            .map(|rule| rule.usd_per_gpu_hour * rule.billed_gpu_hours(ledger));
        let tokens = self.tokens.map(|rule| {
            let millions = |tokens: u64| tokens as f64 / 1e6;
            rule.input_usd_per_million * millions(ledger.prompt_tokens)
                + rule.output_usd_per_million * millions(ledger.output_tokens)
        });
        match (time, tokens) {
            (None, None) => None,
            (time, tokens) => Some(time.unwrap_or(0.0) + tokens.unwrap_or(0.0)),
        }
    }

    /// What a dedicated endpoint of so many GPUs costs the customer [USD/h].
    pub fn dedicated_usd_per_hour(&self, gpus: u32) -> Option<f64> {
        Some(self.dedicated_usd_per_gpu_hour? * f64::from(gpus))
    }

    /// Requests per hour above which a dedicated endpoint of so many GPUs is cheaper than being billed `per_request` \[USD\].
    /// `None` where one of the two has no price. Whether the endpoint can serve that many is another question.
    pub fn break_even_per_hour(&self, gpus: u32, per_request: Option<f64>) -> Option<f64> {
        let hourly = self.dedicated_usd_per_hour(gpus)?;
        per_request
            .filter(|each| *each > 0.0)
            .map(|each| hourly / each)
    }
}
