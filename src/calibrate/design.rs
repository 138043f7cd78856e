//! Gap plans that a next measurement could have: those that a `measure` command line can state.
//!
//! A keep-alive shows as the gap from which on requests meet cold starts, and other users' rate as how many of those beyond it do.
//! So most plans are ladders about the keep-alive as it is known so far: few rungs for a sharp edge, many for a wide bracket, some
//! with longer gaps beside them (theory.md §5.4: bracket the keep-alive, then long gaps for the rate). Constant gaps are there to
//! compare with.

use crate::measure::protocol::GapPlan;
use crate::time::Duration;

/// What `measure` does unless told otherwise \[s\].
const USUAL_GAP: f64 = 5.0;
/// Five spacings that tell rate and keep-alive apart (theory.md §5.4) \[s\].
const FIVE: (f64, f64, usize) = (20.0, 700.0, 5);
/// Rungs of ladders.
const RUNGS: [usize; 4] = [3, 5, 8, 12];
/// No gap is shorter \[s\].
const SHORTEST: f64 = 1.0;
/// No gap is longer \[s\].
const LONGEST: f64 = 86_400.0;

/// What is known of the keep-alive \[s\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeepAlive {
    /// The 5 % quantile.
    pub low: f64,
    /// The 25 % quantile.
    pub quarter: f64,
    /// The median.
    pub middle: f64,
    /// The 75 % quantile.
    pub three_quarters: f64,
    /// The 95 % quantile.
    pub high: f64,
}

impl Default for KeepAlive {
    /// What is usual, where nothing is known.
    fn default() -> Self {
        Self {
            low: 20.0,
            quarter: 60.0,
            middle: 180.0,
            three_quarters: 400.0,
            high: 900.0,
        }
    }
}

/// Plans for so many requests, of which none is longer than `within` \[s\] by its gaps alone.
pub fn designs(known: KeepAlive, requests: u32, within: Option<f64>) -> Vec<GapPlan> {
    let KeepAlive {
        low,
        quarter,
        middle,
        three_quarters,
        high,
    } = known;
    let mut lists: Vec<Vec<f64>> = [USUAL_GAP, low, middle, high, 2.0 * high]
        .map(|gap| vec![gap])
        .to_vec();
    lists.push(rungs(FIVE.0, FIVE.1, FIVE.2));
    let brackets = [
        (low, high),
        (quarter, three_quarters),
        (low / 1.5, high * 1.5),
        (low / 3.0, high * 3.0),
    ];
    for (from, to) in brackets {
        lists.extend(RUNGS.map(|count| rungs(from, to, count)));
    }
    for count in [5, 8] {
        let bracket = || rungs(low, high, count);
        lists.push([bracket(), vec![2.0 * high]].concat());
        lists.push([bracket(), vec![2.0 * high, 4.0 * high]].concat());
    }
    plans(lists, requests, within)
}

/// Plans that differ a little from one that proved good.
pub fn neighbours(plan: &GapPlan, requests: u32, within: Option<f64>) -> Vec<GapPlan> {
    let GapPlan::Ladder(gaps) = plan else {
        return Vec::new();
    };
    let gaps: Vec<f64> = gaps.iter().map(|gap| gap.as_secs()).collect();
    let (first, last) = (gaps[0], gaps[gaps.len() - 1]);
    let step = (last / first).powf(1.0 / (gaps.len() - 1) as f64);
    let scaled = |by: f64| gaps.iter().map(|gap| gap * by).collect::<Vec<f64>>();
    let lists = vec![
        gaps[1..].to_vec(),
        gaps[..gaps.len() - 1].to_vec(),
        [vec![first / step], gaps.clone()].concat(),
        [gaps.clone(), vec![last * step]].concat(),
        scaled(1.0 / step.sqrt()),
        scaled(step.sqrt()),
        rungs(first, last, 2 * gaps.len() - 1),
        [gaps.clone(), vec![last; gaps.len() / 2]].concat(),
    ];
    plans(lists, requests, within)
}

/// A geometric ladder.
fn rungs(from: f64, to: f64, count: usize) -> Vec<f64> {
    let step = (to / from).powf(1.0 / (count - 1) as f64);
    (0..count)
        .map(|rung| from * step.powf(rung as f64))
        .collect()
}

/// Lists of gaps as plans, each once.
fn plans(lists: Vec<Vec<f64>>, requests: u32, within: Option<f64>) -> Vec<GapPlan> {
    let mut plans: Vec<GapPlan> = Vec::new();
    for list in lists {
        let gaps: Vec<f64> = list.into_iter().map(round).collect();
        let alike = gaps.iter().all(|gap| *gap == gaps[0]);
        let gaps = if alike { &gaps[..1] } else { &gaps[..] };
        let laps = 0..requests.saturating_sub(1) as usize;
        let total: f64 = laps.clone().map(|at| gaps[at % gaps.len()]).sum();
        let plan = match gaps {
            [gap] => GapPlan::Fixed(Duration::from_secs(*gap)),
            gaps => GapPlan::Ladder(gaps.iter().copied().map(Duration::from_secs).collect()),
        };
        let fits = gaps.len() <= laps.len() && within.is_none_or(|most| total <= most);
        if fits && !plans.contains(&plan) {
            plans.push(plan);
        }
    }
    plans
}

/// A gap that reads well: two digits, and whole seconds.
fn round(gap: f64) -> f64 {
    let gap = gap.clamp(SHORTEST, LONGEST);
    let unit = 10_f64.powf(gap.log10().floor() - 1.0).max(1.0);
    (gap / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(plan: &GapPlan) -> Vec<f64> {
        match plan {
            GapPlan::Fixed(gap) => vec![gap.as_secs()],
            GapPlan::Ladder(gaps) => gaps.iter().map(|gap| gap.as_secs()).collect(),
            other => unreachable!("{other:?} is no design"),
        }
    }

    #[test]
    fn theory_s_five_spacings_and_the_usual_gap_are_among_them() {
        let all: Vec<Vec<f64>> = designs(KeepAlive::default(), 75, None)
            .iter()
            .map(seconds)
            .collect();
        assert!(
            all.contains(&vec![20.0, 49.0, 120.0, 290.0, 700.0]),
            "{all:?}"
        );
        assert!(all.contains(&vec![5.0]), "{all:?}");
    }

    #[test]
    fn a_plan_is_no_longer_than_there_is_time_and_has_no_more_rungs_than_gaps() {
        let all = designs(KeepAlive::default(), 7, Some(600.0));
        assert!(!all.is_empty());
        for plan in &all {
            let gaps = seconds(plan);
            let total: f64 = (0..6).map(|at| gaps[at % gaps.len()]).sum();
            assert!(gaps.len() <= 6 && total <= 600.0, "{plan:?}");
        }
    }

    #[test]
    fn gaps_are_whole_seconds() {
        for (gap, reads) in [
            (0.2, 1.0),
            (1.4, 1.0),
            (6.3, 6.0),
            (48.7, 49.0),
            (288.0, 290.0),
        ] {
            assert_eq!(round(gap), reads, "{gap}");
        }
    }

    #[test]
    fn neighbours_differ_from_their_plan_and_constant_gaps_have_none() {
        let ladder = GapPlan::Ladder([10.0, 20.0, 40.0].map(Duration::from_secs).to_vec());
        let near = neighbours(&ladder, 75, None);
        assert!(near.len() >= 6 && !near.contains(&ladder), "{near:?}");
        let fixed = GapPlan::Fixed(Duration::from_secs(5.0));
        assert!(neighbours(&fixed, 75, None).is_empty());
    }
}
