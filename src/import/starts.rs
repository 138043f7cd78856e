//! Measured cold starts: CSV with a column per phase (`load_weights_s`, ...), one of totals, and maybe one of classes.

use super::ImportError;
use crate::calibrate::starts::MeasuredStart;
use crate::foreign::did_you_mean;
use crate::foreign::problem::{Problem, all};
use crate::foreign::table::{Records, column, only_one};
use crate::start_phase::StartPhase;

const TOTAL: &str = "total_s";
const CLASS: &str = "class";

/// Reads the starts of a file, which is called `file` in messages.
pub fn read_starts(file: &str, bytes: &[u8]) -> Result<Vec<MeasuredStart>, ImportError> {
    read(bytes).map_err(|problems| ImportError {
        file: file.to_owned(),
        problems,
    })
}

fn read(bytes: &[u8]) -> Result<Vec<MeasuredStart>, Vec<Problem>> {
    let opened = Records::new(bytes).map_err(|error| Problem::of_file(error.to_string()));
    let mut records = opened.map_err(|problem| vec![problem])?;
    let head = records.head().map_err(|problem| vec![problem])?;
    let columns = Columns::of(&head)?;
    let mut starts = Vec::new();
    let mut record = csv::StringRecord::new();
    while let Some(line) = records.read(&mut record) {
        starts.push(line.and_then(|line| columns.start(&record, line)));
    }
    let starts = all(starts)?;
    if starts.is_empty() {
        return Err(vec![Problem::of_file("it holds no start")]);
    }
    Ok(starts)
}

/// Where what stands.
struct Columns {
    phases: Vec<(StartPhase, usize)>,
    total: usize,
    class: Option<usize>,
}

impl Columns {
    fn of(head: &[String]) -> Result<Self, Vec<Problem>> {
        let phase = |name: &str| {
            let all = StartPhase::ALL.into_iter();
            let mut named = all.filter(|phase| format!("{}_s", phase.name()) == name);
            named.next()
        };
        let known = || {
            let phases = StartPhase::ALL.map(|phase| format!("{}_s", phase.name()));
            phases
                .into_iter()
                .chain([TOTAL.to_owned(), CLASS.to_owned()])
        };
        let mut problems = Vec::new();
        for name in head.iter().filter(|name| !known().any(|one| one == **name)) {
            let known: Vec<String> = known().collect();
            let help = did_you_mean(name, known.iter().map(String::as_str)).map_or_else(
                || format!("known: {}", known.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            problems.push(Problem::of_file(format!("unknown column `{name}`; {help}")));
        }
        let twice = head.iter().filter(|name| *name != TOTAL);
        problems.extend(twice.filter_map(|name| only_one(head, name).err()));
        problems.dedup();
        let places = head.iter().enumerate();
        let phases: Vec<(StartPhase, usize)> = places
            .filter_map(|(place, name)| Some((phase(name)?, place)))
            .collect();
        if phases.is_empty() {
            problems.push(Problem::of_file(
                "there is no column of a phase, such as `load_weights_s`",
            ));
        }
        match column(head, TOTAL) {
            Ok(total) if problems.is_empty() => Ok(Self {
                phases,
                total,
                class: head.iter().position(|name| name == CLASS),
            }),
            Ok(_) => Err(problems),
            Err(problem) => {
                problems.push(problem);
                Err(problems)
            }
        }
    }

    fn start(&self, record: &csv::StringRecord, line: usize) -> Result<MeasuredStart, Problem> {
        let cell = |place: usize| record.get(place).unwrap_or_default();
        let seconds = |name: &str, place: usize| {
            let found = cell(place);
            let value = found.parse::<f64>().ok();
            value
                .filter(|value| value.is_finite() && *value >= 0.0)
                .ok_or_else(|| {
                    let why = format!("found `{found}`, seconds from 0 on are needed");
                    Problem::at_field(line, name, why)
                })
        };
        let mut phases = Vec::new();
        for &(phase, place) in &self.phases {
            // A phase that was not measured is an empty cell.
            if !cell(place).is_empty() {
                phases.push((phase, seconds(&format!("{}_s", phase.name()), place)?));
            }
        }
        let class = self.class.map(cell).filter(|class| !class.is_empty());
        Ok(MeasuredStart {
            class: class.map(str::to_owned),
            phases,
            total_s: seconds(TOTAL, self.total)?,
        })
    }
}
