//! The same seed gives the same bytes, however often, on however many threads, whatever else the machine does and whatever
//! else is asked for; other seeds give others, and the first event in which two runs differ can be named.

use crate::cli::{self, BETS};
use crate::journal::{self, Digest, Pace};
use crate::support::{EVERYTHING, fleet, plan};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;
use thermocline::experiment::repeat::repeat;
use thermocline::scenario::{self, Overrides};
use thermocline::stats::CvDefinition;
use thermocline::time::Duration;

/// Does something in a pool of so many threads.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool of threads")
        .install(work)
}

/// Does something while other threads keep every core busy.
pub(crate) fn under_load<T>(work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..2 * cores {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

const LESSON: &str = include_str!("../../scenarios/lesson.toml");

fn lesson(seed: u64) -> Digest {
    let overrides = Overrides {
        seed: Some(seed),
        ..Overrides::default()
    };
    let (plan, _) = scenario::load("lesson.toml", LESSON, &overrides).expect("the lesson is valid");
    Digest::of(&repeat(
        &plan,
        8,
        CvDefinition::StdOverMean,
        EVERYTHING,
        &|| (),
    ))
}

#[test]
fn the_lesson_is_the_same_on_any_number_of_threads_and_on_a_busy_machine() {
    let first = on_threads(1, || lesson(7));
    for threads in [1, 2, 8] {
        assert_eq!(
            on_threads(threads, || lesson(7)),
            first,
            "{threads} threads"
        );
    }
    assert_eq!(under_load(|| on_threads(8, || lesson(7))), first);
}

#[test]
fn three_seeds_give_three_runs() {
    let [zero, one, far] = [0, 1, 1 << 32].map(lesson);
    assert!(zero != one && one != far && far != zero);
}

#[test]
fn a_replication_does_not_depend_on_how_many_there_are() {
    let (plan, _) = scenario::load("lesson.toml", LESSON, &Overrides::default()).expect("valid");
    let once = repeat(&plan, 1, CvDefinition::StdOverMean, EVERYTHING, &|| ());
    let often = repeat(&plan, 3, CvDefinition::StdOverMean, EVERYTHING, &|| ());
    assert_eq!(Digest::of(&once.runs), Digest::of(&often.runs));
}

/// A small fleet with a bit of everything that takes time, and one request at `at`.
fn eventful(at: &str) -> String {
    let body = format!(
        r#"
        [providers.p.deployments.m]
        service.continuous = {{ max_sequences = 3, kv_tokens = 400, step.base = "20ms" }}
        cold_start = {{ provision.exponential.mean = "3s", load_weights = "4s" }}
        scaling = {{ keep_alive = "5s", max = 3 }}
        queue = {{ limit = 4, timeout = "9s" }}
        losses = {{ failure = "1/min", eviction = "1/min" }}
        [providers.p.deployments.m.traffic]
        crowd = {{ arrivals = "1/s", prompt_tokens = {{ uniform = {{ low = 1, high = 200 }} }}, output_tokens = 60, timeout = "8s" }}
        one = {{ arrivals.at.times = ["{at}"], prompt_tokens = 7, output_tokens = 7 }}
        "#
    );
    fleet("300s", &body)
}

#[test]
fn the_first_event_in_which_two_runs_differ_is_named() {
    let plans = ["40s", "41s", "40s"].map(|at| plan(&eventful(at)));
    let [one, other, again] = plans.each_ref().map(|plan| (plan, Pace::Events));
    assert_eq!(journal::first_difference(one, again), None);
    let [ours, theirs] = journal::first_difference(one, other).expect("one request comes later");
    assert_eq!(ours, "at 40 s: Arrival { deployment: 0, stream: 1 }");
    assert_ne!(ours, theirs);
}

/// Stopping the clock is no event: what is advanced in one piece must not depend on where somebody looks.
#[test]
fn looking_at_a_fleet_moves_nothing() {
    let plan = plan(&eventful("40s"));
    let whole = (&plan, Pace::Events);
    for nanos in [1_000_000_000, 7_000_003] {
        let stops = (&plan, Pace::Stops(Duration::from_nanos(nanos)));
        assert_eq!(journal::first_difference(whole, stops), None);
        assert_eq!(
            journal::digest(&plan, whole.1),
            journal::digest(&plan, stops.1)
        );
    }
}

/// What is printed does not depend on how many threads there are, how busy they are, or what else is asked for.
#[test]
fn every_format_prints_the_same_whatever_else_is_asked_for() {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    for format in ["text", "json", "csv", "markdown"] {
        let printed = |more: &[&str]| {
            let always = ["simulate", "-", "--repeat", "3", "--format", format];
            let output = cli::run(BETS, &[&always, more].concat());
            assert!(output.status.success(), "{more:?}");
            output.stdout
        };
        let plain = printed(&["--threads", "1"]);
        assert!(!plain.is_empty());
        let (some, all) = (
            path(&format!("{format}-some")),
            path(&format!("{format}-all")),
        );
        let others: [&[&str]; 6] = [
            &["--threads", "2"],
            &["--threads", "8"],
            &["--no-progress"],
            &["--quiet"],
            &["--out", &some],
            &["--out", &all, "--requests", "everybody", "--threads", "8"],
        ];
        for more in others {
            assert_eq!(printed(more), plain, "{format} with {more:?}");
        }
        let busy = under_load(|| printed(&["--threads", "8"]));
        assert_eq!(busy, plain, "{format} on a busy machine");
        let [some, all] = [some, all].map(|path| cli::files(path.as_ref()));
        assert_eq!(some["summary.json"], all["summary.json"]);
        assert!(all["requests.csv"].len() > some["requests.csv"].len());
    }
}
