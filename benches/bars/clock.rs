//! CPU time, so that other processes count as little as possible.

use std::fs;
use std::time::Instant;

/// CPU time of this thread \[s\], where the system tells it.
fn thread_cpu() -> Option<f64> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos: f64 = stat.split(' ').next()?.parse().ok()?;
    Some(nanos / 1e9)
}

/// CPU time of the processes that this one waited for \[s\], where the system tells it.
fn children_cpu() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Fields 16 and 17 of proc_pid_stat(5), in ticks of 10 ms; the second field may hold blanks and ends with a bracket.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    Some((ticks(13)? + ticks(14)?) / 100.0)
}

/// How long some work of this thread takes \[s\], and what it gives.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    spent(thread_cpu, work)
}

/// How long the processes that some work waits for take \[s\], and what it gives.
pub(crate) fn timed_children<T>(work: impl FnOnce() -> T) -> (f64, T) {
    spent(children_cpu, work)
}

fn spent<T>(cpu: impl Fn() -> Option<f64>, work: impl FnOnce() -> T) -> (f64, T) {
    let (begun, before) = (Instant::now(), cpu());
    let done = work();
    let span = match (before, cpu()) {
        (Some(before), Some(after)) => after - before,
        _ => begun.elapsed().as_secs_f64(),
    };
    (span, done)
}

/// Most memory that this process has held so far [MB], where the system tells it.
pub(crate) fn peak_memory_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}
