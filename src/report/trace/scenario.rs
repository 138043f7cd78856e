//! A fitted law as a scenario: what the trace showed, in a form that `check` accepts and `simulate` runs.

use std::fmt::Write as _;

use super::Inspected;
use crate::scenario::units::{print_duration, print_rate};
use crate::time::Duration;
use crate::trace::{Fit, Fits, Law, Lengths};

/// Values that stand for lengths: their quantiles in the middle of so many equal shares.
const VALUES: u32 = 40;
/// Digits of a number that a fit does not know better than to a thousandth.
const DIGITS: usize = 4;

/// The traces as deployments of one provider, by the law that is asked for or each one's best; traces without are left out.
pub(super) fn scenario(files: &[Inspected], law: Option<&str>) -> String {
    let mut out = String::new();
    let mut names: Vec<String> = Vec::new();
    for one in files {
        let Some(fits) = &one.fits else { continue };
        let is_wanted = |fit: &&Fit| law.is_none_or(|law| fit.law.name() == law);
        let Some(fit) = fits.laws.iter().find(is_wanted) else {
            continue;
        };
        let name = name(&one.file, &names);
        if !out.is_empty() {
            out.push('\n');
        }
        deployment(&mut out, one, fits, fit, &name);
        names.push(name);
    }
    out
}

fn deployment(out: &mut String, one: &Inspected, fits: &Fits, fit: &Fit, name: &str) {
    let survey = &one.survey;
    let _ = writeln!(
        out,
        "# {} requests in {} s ({}): arrivals by {}",
        survey.rows,
        survey.span.as_secs(),
        one.format,
        fit.law.name()
    );
    let _ = writeln!(out, "[providers.fitted.deployments.{name}.traffic.users]");
    let _ = writeln!(out, "arrivals.{}", arrivals(&fit.law));
    if let Some(daily) = &fits.daily {
        let _ = writeln!(out, "daily = {}", list(daily));
    }
    if let Some(weekly) = &fits.weekly {
        let _ = writeln!(out, "weekly = {}", list(weekly));
    }
    for (key, lengths) in [
        ("prompt_tokens", &survey.prompt_tokens),
        ("output_tokens", &survey.output_tokens),
    ] {
        if let Some(lengths) = lengths {
            let _ = writeln!(out, "{key}.empirical.values = {}", values(lengths));
        }
    }
}

/// The law as a value: `poisson = { rate = "2.57/s" }`.
fn arrivals(law: &Law) -> String {
    let rate = |rate: f64| print_rate(rounded(rate));
    let span = |seconds: f64| print_duration(Duration::from_secs(rounded(seconds)));
    match law {
        Law::Poisson { rate: mean } => format!("poisson.rate = \"{}\"", rate(*mean)),
        Law::Gamma { rate: mean, cv } => {
            format!(
                "gamma = {{ rate = \"{}\", cv = {} }}",
                rate(*mean),
                rounded(*cv)
            )
        }
        Law::Mmpp { rates, sojourns } => format!(
            "mmpp = {{ calm_rate = \"{}\", burst_rate = \"{}\", calm_mean = \"{}\", burst_mean = \"{}\" }}",
            rate(rates[0]),
            rate(rates[1]),
            span(sojourns[0]),
            span(sojourns[1])
        ),
    }
}

/// A number to the digits that are written.
fn rounded(value: f64) -> f64 {
    let text = format!("{value:.*e}", DIGITS - 1);
    text.parse().unwrap_or(value)
}

fn list(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:.3}")).collect();
    format!("[{}]", values.join(", "))
}

/// Quantiles in the middle of equal shares, so that each stands for as many requests.
fn values(lengths: &Lengths) -> String {
    let values = (0..VALUES).map(|index| {
        let p = (f64::from(index) + 0.5) / f64::from(VALUES);
        format!("{:.0}", lengths.quantile(p))
    });
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

/// The file's name as a deployment's, that none of `taken` is.
fn name(file: &str, taken: &[String]) -> String {
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = base.split('.').next().unwrap_or(base);
    let mut name: String = stem
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        })
        .collect();
    if name.is_empty() {
        "trace".clone_into(&mut name);
    }
    while taken.contains(&name) {
        name.push_str("-2");
    }
    name
}
