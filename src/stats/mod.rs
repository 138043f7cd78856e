//! Statistics of numbers: pure mathematics that knows no requests.
//!
//! | to | use |
//! | --- | --- |
//! | describe values that are all at hand | [`Sample`]: mean, deviation, exact quantiles, coefficient of variation |
//! | say which percentile is meant | [`PercentileMethod`] |
//! | bound a quantile without assuming a law | [`rank_interval`], [`needed_for_quantile`] |
//! | bound a share, also when nothing was seen | [`clopper_pearson`] |
//! | bound a mean over independent replications | [`Estimate::of_mean`] |
//! | bound a coefficient of variation that many values carry | [`cv_interval`] |
//! | tell one kind of values from two | [`TwoKinds`] |
//! | know that some values are longer than they were watched | [`KaplanMeier`] |
//! | see something rare at least once | [`needed_to_see`] |
//! | ask how much a figure owes to the luck of the draw | [`bootstrap()`] |
//! | describe millions of durations in fixed memory | [`Histogram`] |
//! | average a level that changes at instants | [`TimeAverage`] |
//! | judge whether ranks are uniform | [`Uniformity`], [`ks_distance`] |
//! | find where the start of a series ceases to matter | [`mser`] |
//!
//! The intervals for quantiles, shares and means assume independent values. Values of one run that follow each other
//! closely are not independent: replicate the run and use one value per replication.

mod beta;
mod bootstrap;
mod estimate;
mod histogram;
mod kaplan_meier;
mod mixture;
mod proportion;
mod quantile;
mod sample;
mod steady_state;
mod time_average;
mod uniform;

pub use bootstrap::{bootstrap, resample, rounds};
pub use estimate::{
    Estimate, Interval, cv_interval, normal_quantile, student_t_probability, student_t_quantile,
};
pub use histogram::Histogram;
pub use kaplan_meier::{KaplanMeier, Watched};
pub use mixture::{Component, TwoKinds};
pub use proportion::{clopper_pearson, needed_to_see};
pub use quantile::{
    Needed, PercentileMethod, Position, UnknownMethod, needed_below_maximum, needed_for_quantile,
    rank_interval,
};
pub use sample::{CvDefinition, Sample, UnknownDefinition};
pub use steady_state::{Truncation, mser};
pub use time_average::TimeAverage;
pub use uniform::{Uniformity, ks_distance};
