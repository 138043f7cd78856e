//! The same seed gives the same bytes, however often and on however many threads; other seeds give others.

use crate::support::EVERYTHING;
use std::fmt::Debug;
use thermocline::experiment::repeat::repeat;
use thermocline::scenario::{self, Overrides};
use thermocline::stats::CvDefinition;

/// A hash of everything that a value shows of itself (FNV-1a over its debug text).
pub(crate) fn digest(value: &impl Debug) -> u64 {
    use std::fmt::Write;
    struct Hash(u64);
    impl Write for Hash {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for byte in text.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            Ok(())
        }
    }
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    write!(hash, "{value:?}").expect("a hash takes any text");
    hash.0
}

/// Does something in a pool of so many threads.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool of threads")
        .install(work)
}

const LESSON: &str = include_str!("../../scenarios/lesson.toml");

fn lesson(seed: u64) -> u64 {
    let overrides = Overrides {
        seed: Some(seed),
        ..Overrides::default()
    };
    let (plan, _) = scenario::load("lesson.toml", LESSON, &overrides).expect("the lesson is valid");
    digest(&repeat(
        &plan,
        6,
        CvDefinition::StdOverMean,
        EVERYTHING,
        &|| (),
    ))
}

#[test]
fn the_lesson_is_the_same_twice_and_on_two_threads() {
    let first = on_threads(1, || lesson(7));
    assert_eq!(on_threads(1, || lesson(7)), first);
    assert_eq!(on_threads(2, || lesson(7)), first);
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
    assert_eq!(digest(&once.runs), digest(&often.runs));
}
