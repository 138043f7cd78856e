//! Quantiles of spans of which some are known only to be longer than they were watched.
//!
//! Source: Kaplan & Meier 1958; interval of a quantile by Brookmeyer & Crowley 1982 with Greenwood's variance on the scale of
//! `ln(-ln S)`, which keeps it between 0 and 1.

use super::estimate::{Interval, normal_quantile};

/// A span: how long it was watched, and whether it ended then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watched {
    /// How long.
    pub span: f64,
    /// Whether it ended then; otherwise it is longer.
    pub has_ended: bool,
}

/// A step of the estimate: from `span` on the share `survival` is longer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    span: f64,
    survival: f64,
    /// Greenwood's sum.
    greenwood: f64,
}

/// The share of spans that are longer than each length.
#[derive(Clone, Debug, PartialEq)]
pub struct KaplanMeier {
    steps: Vec<Step>,
}

impl KaplanMeier {
    /// The estimate from spans; `None` when none has ended.
    pub fn of(mut spans: Vec<Watched>) -> Option<Self> {
        // Of equal spans those that ended come first: the others were still at risk.
        spans.sort_by(|a, b| {
            let ended = b.has_ended.cmp(&a.has_ended);
            a.span.total_cmp(&b.span).then(ended)
        });
        let mut at_risk = spans.len() as f64;
        let (mut survival, mut greenwood) = (1.0, 0.0);
        let mut steps = Vec::new();
        for group in spans.chunk_by(|a, b| a.span == b.span) {
            let ended = group.iter().filter(|one| one.has_ended).count() as f64;
            if ended > 0.0 {
                survival *= 1.0 - ended / at_risk;
                let left = at_risk - ended;
                greenwood += if left > 0.0 {
                    ended / (at_risk * left)
                } else {
                    f64::INFINITY
                };
                let span = group[0].span;
                steps.push(Step {
                    span,
                    survival,
                    greenwood,
                });
            }
            at_risk -= group.len() as f64;
        }
        (!steps.is_empty()).then_some(Self { steps })
    }

    /// The smallest span that the share `p` does not exceed; `None` when that lies beyond what was watched.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        self.first(|step| step.survival <= 1.0 - p + 1e-12)
    }

    /// The interval of that quantile; an end is `None` when it lies beyond what was watched.
    pub fn interval(&self, p: f64, confidence: f64) -> (Option<f64>, Option<f64>) {
        let z = normal_quantile(0.5 + 0.5 * confidence);
        let level = (-(1.0 - p).ln()).ln();
        // The spans at which the estimate is compatible with the share lie between these two.
        let low = self.first(|step| scaled(step) + z * error(step) >= level);
        let high = self.first(|step| scaled(step) - z * error(step) > level);
        (low, high)
    }

    fn first(&self, test: impl Fn(&Step) -> bool) -> Option<f64> {
        let step = self.steps.iter().find(|step| test(step))?;
        Some(step.span)
    }

    /// An interval in one piece, where both ends are known.
    pub fn bounded(&self, p: f64, confidence: f64) -> Option<Interval> {
        let (low, high) = self.interval(p, confidence);
        let (low, high) = low.zip(high)?;
        Some(Interval {
            low,
            high,
            confidence,
        })
    }
}

/// `ln(-ln S)`.
fn scaled(step: &Step) -> f64 {
    (-step.survival.ln()).ln()
}

/// Its standard error.
fn error(step: &Step) -> f64 {
    if step.survival <= 0.0 {
        return 0.0;
    }
    step.greenwood.sqrt() / step.survival.ln().abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(text: &str) -> Vec<Watched> {
        let spans = text.split(' ').map(|one| Watched {
            span: one.trim_end_matches('+').parse().expect("a number"),
            has_ended: !one.ends_with('+'),
        });
        spans.collect()
    }

    #[test]
    fn the_textbook_example_of_leukaemia_patients() {
        // Freireich et al. 1963, the treated arm: S(6) = 0.857, S(10) = 0.753, S(23) = 0.448; the median is 23.
        let text = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+";
        let fit = KaplanMeier::of(spans(text)).expect("some ended");
        let at = |span: f64| {
            let before = fit.steps.iter().rfind(|step| step.span <= span);
            before.expect("a step").survival
        };
        for (span, survival) in [(6.0, 0.857), (10.0, 0.753), (16.0, 0.627), (23.0, 0.448)] {
            assert!((at(span) - survival).abs() < 5e-4, "{span}: {}", at(span));
        }
        assert_eq!((fit.quantile(0.5), fit.quantile(0.95)), (Some(23.0), None));
        let (low, high) = fit.interval(0.5, 0.95);
        assert_eq!((low, high), (Some(13.0), None));
    }

    #[test]
    fn without_censoring_quantiles_are_ranks() {
        let text = "1 2 3 4 5 6 7 8 9 10";
        let fit = KaplanMeier::of(spans(text)).expect("all ended");
        assert_eq!(
            (fit.quantile(0.5), fit.quantile(0.95)),
            (Some(5.0), Some(10.0))
        );
        assert!(
            fit.bounded(0.5, 0.95)
                .is_some_and(|interval| interval.contains(5.0))
        );
    }

    #[test]
    fn six_time_outs_of_a_hundred_hide_p95_only() {
        // C092 (i)
        let mut spans = vec![
            Watched {
                span: 1.0,
                has_ended: true
            };
            94
        ];
        spans.extend(
            [Watched {
                span: 30.0,
                has_ended: false,
            }; 6],
        );
        let fit = KaplanMeier::of(spans).expect("some ended");
        assert_eq!((fit.quantile(0.5), fit.quantile(0.95)), (Some(1.0), None));
        assert_eq!(
            KaplanMeier::of(vec![Watched {
                span: 1.0,
                has_ended: false
            }]),
            None
        );
    }
}
