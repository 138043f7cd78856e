//! Measured cold starts: whether their phases add up to their total, each class for itself.
//!
//! What is left between the sum and the total is never spread over the phases. If the total is longer, the rest is a phase of its
//! own, `unattributed`; if it is shorter, phases overlap, and neither number is silently taken for the other. Starts that find a
//! warm compile cache are another class than those that compile: a mean of both describes neither.

use crate::start_phase::StartPhase;

/// Sum and total that differ by less than this share are one.
const SAME: f64 = 0.01;
/// A start that compiles in less than this share of the longest compile found its cache warm.
const CACHED: f64 = 1.0 / 3.0;

/// A cold start as somebody measured it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredStart {
    /// What kind of start it is, where the file says so.
    pub class: Option<String>,
    /// Its phases \[s\], in the order of [`StartPhase::ALL`].
    pub phases: Vec<(StartPhase, f64)>,
    /// From its cause to being ready \[s\].
    pub total_s: f64,
}

/// Starts of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct StartClass {
    /// What it is called.
    pub name: String,
    /// How many starts there are.
    pub starts: usize,
    /// The mean of each phase \[s\].
    pub phases: Vec<(StartPhase, f64)>,
    /// Their sum \[s\].
    pub sum_s: f64,
    /// The mean total \[s\].
    pub total_s: f64,
}

impl MeasuredStart {
    fn phase(&self, phase: StartPhase) -> f64 {
        let of = self.phases.iter().filter(|(one, _)| *one == phase);
        of.map(|(_, span)| span).sum()
    }
}

impl StartClass {
    /// By classes, in the order in which they first appear.
    pub fn all(starts: &[MeasuredStart]) -> Vec<Self> {
        let compiles = starts.iter().map(|start| start.phase(StartPhase::Compile));
        let longest = compiles.fold(0.0, f64::max);
        let class = |start: &MeasuredStart| {
            let is_cached = start.phase(StartPhase::Compile) < CACHED * longest;
            let own = if is_cached { "cached" } else { "fresh" };
            start.class.clone().unwrap_or_else(|| own.to_owned())
        };
        let mut groups: Vec<(String, Vec<&MeasuredStart>)> = Vec::new();
        for start in starts {
            let name = class(start);
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, members)) => members.push(start),
                None => groups.push((name, vec![start])),
            }
        }
        let of = |(name, members): (String, Vec<&MeasuredStart>)| Self::of(name, &members);
        groups.into_iter().map(of).collect()
    }

    fn of(name: String, members: &[&MeasuredStart]) -> Self {
        let count = members.len() as f64;
        let mean = |of: &dyn Fn(&MeasuredStart) -> f64| {
            members.iter().map(|start| of(start)).sum::<f64>() / count
        };
        let measured = StartPhase::ALL.into_iter().filter(|phase| {
            let mut all = members.iter().flat_map(|start| &start.phases);
            all.any(|(one, _)| one == phase)
        });
        let phases: Vec<(StartPhase, f64)> = measured
            .map(|phase| (phase, mean(&|start| start.phase(phase))))
            .collect();
        Self {
            name,
            starts: members.len(),
            sum_s: phases.iter().map(|(_, span)| span).sum(),
            phases,
            total_s: mean(&|start| start.total_s),
        }
    }

    /// What no phase accounts for \[s\]; zero where the sum is not less than the total.
    pub fn unattributed_s(&self) -> f64 {
        self.off().max(0.0)
    }

    /// By how much phases overlap \[s\]; zero where the sum is not more than the total.
    pub fn overlap_s(&self) -> f64 {
        let off = self.off();
        if off < 0.0 { -off } else { 0.0 }
    }

    /// The total less the sum \[s\], where they differ.
    fn off(&self) -> f64 {
        let off = self.total_s - self.sum_s;
        if off.abs() < SAME * self.total_s {
            0.0
        } else {
            off
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_start_in_parts_is_never_averaged_with_a_cached_one() {
        let start = |compile: f64, total_s: f64| MeasuredStart {
            class: None,
            phases: vec![
                (StartPhase::LoadWeights, 34.0),
                (StartPhase::Compile, compile),
            ],
            total_s,
        };
        let classes = StartClass::all(&[start(40.0, 74.0), start(5.0, 39.0), start(42.0, 76.2)]);
        let found: Vec<(&str, usize, f64)> = classes
            .iter()
            .map(|class| (class.name.as_str(), class.starts, class.sum_s))
            .collect();
        assert_eq!(found, [("fresh", 2, 75.0), ("cached", 1, 39.0)]);
        assert!(classes.iter().all(|class| class.off() == 0.0));
    }
}
