//! When sessions start: local times of day as instants on the run's clock.

use anyhow::Context as _;
use jiff::civil;
use jiff::{Timestamp, ToSpan as _, ZonedDateTime};

use crate::journal;
use crate::scenario::units;
use crate::time::{Duration, Time};

/// The name of the only session of a run without times of day.
const ONCE: &str = "once";

/// A session of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    /// Its name.
    pub(super) name: String,
    /// When it starts.
    pub(super) starts_at: ZonedDateTime,
}

/// The sessions from `now` on: each time of day the next time it comes, and on the days after; without one, now.
pub(super) fn from_now(
    at: &[Duration],
    days: u32,
    now: &ZonedDateTime,
) -> anyhow::Result<Vec<Session>> {
    if at.is_empty() {
        return Ok(vec![Session {
            name: ONCE.to_owned(),
            starts_at: now.clone(),
        }]);
    }
    let mut sessions = Vec::new();
    for &time in at {
        let first = next(time, now)?;
        for day in 0..days {
            let starts_at = first.checked_add(i64::from(day).days())?;
            let name = match days {
                1 => units::print_time_of_day(time),
                _ => starts_at.strftime("%Y-%m-%dT%H:%M").to_string(),
            };
            sessions.push(Session { name, starts_at });
        }
    }
    sessions.sort_by_key(|session| session.starts_at.timestamp());
    Ok(sessions)
}

/// The sessions of an earlier run's file. One that was missed is held the next time its time of day comes.
pub(super) fn of_file(
    sessions: &[journal::Session],
    has_begun: impl Fn(&str) -> bool,
    now: &ZonedDateTime,
) -> anyhow::Result<Vec<Session>> {
    let session = |session: &journal::Session| {
        let starts_at = session.starts_at.parse::<Timestamp>();
        let starts_at =
            starts_at.with_context(|| format!("the session {} has no start", session.name))?;
        let mut starts_at = starts_at.to_zoned_datetime(now.time_zone().clone());
        if session.name != ONCE && !has_begun(&session.name) && starts_at < *now {
            starts_at = at_next(starts_at.time(), now)?;
        }
        Ok(Session {
            name: session.name.clone(),
            starts_at,
        })
    };
    sessions.iter().map(session).collect()
}

/// When it starts on the clock of a run whose origin is `started_at`.
pub(super) fn start(session: &Session, started_at: Timestamp) -> Time {
    let nanos = session.starts_at.timestamp().as_nanosecond() - started_at.as_nanosecond();
    Time::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

fn next(since_midnight: Duration, now: &ZonedDateTime) -> anyhow::Result<ZonedDateTime> {
    at_next(time_of_day(since_midnight), now)
}

/// The next time that the clock on the wall shows `time`; where it is put forward over it, right after.
fn at_next(time: civil::Time, now: &ZonedDateTime) -> anyhow::Result<ZonedDateTime> {
    let today = now.with().time(time).build()?;
    if today > *now {
        return Ok(today);
    }
    Ok(now.checked_add(1.day())?.with().time(time).build()?)
}

fn time_of_day(since_midnight: Duration) -> civil::Time {
    let minutes = since_midnight.as_nanos() / 60_000_000_000;
    let seconds = since_midnight.as_nanos() / 1_000_000_000 % 60;
    civil::time(
        (minutes / 60 % 24) as i8,
        (minutes % 60) as i8,
        seconds as i8,
        0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> ZonedDateTime {
        text.parse().expect("a zoned instant")
    }

    fn hours(hours: f64) -> Duration {
        Duration::from_secs(hours * 3600.0)
    }

    fn shown(sessions: &[Session]) -> Vec<String> {
        let show =
            |one: &Session| format!("{} {}", one.name, one.starts_at.strftime("%d %H:%M%:z"));
        sessions.iter().map(show).collect()
    }

    #[test]
    fn sessions_start_the_next_time_their_hour_comes() {
        let now = at("2026-12-01T15:30:00+01:00[Europe/Berlin]");
        let sessions = from_now(&[hours(14.0), hours(4.5)], 1, &now).expect("they are times");
        assert_eq!(
            shown(&sessions),
            ["04:30 02 04:30+01:00", "14:00 02 14:00+01:00"]
        );
        let sessions = from_now(&[hours(16.0)], 2, &now).expect("it is a time");
        assert_eq!(
            shown(&sessions),
            [
                "2026-12-01T16:00 01 16:00+01:00",
                "2026-12-02T16:00 02 16:00+01:00"
            ]
        );
        assert_eq!(
            shown(&from_now(&[], 1, &now).expect("now")),
            ["once 01 15:30+01:00"]
        );
    }

    #[test]
    fn the_hour_on_the_wall_counts_where_clocks_are_changed() {
        // 02:30 does not exist on that night.
        let now = at("2026-03-29T00:00:00+01:00[Europe/Berlin]");
        let sessions = from_now(&[hours(2.5), hours(14.0)], 1, &now).expect("they are times");
        assert_eq!(
            shown(&sessions),
            ["02:30 29 03:30+02:00", "14:00 29 14:00+02:00"]
        );
    }

    #[test]
    fn a_missed_session_waits_for_its_hour() {
        let file = [
            ("04:00", "2026-12-02T04:00:00Z"),
            ("14:00", "2026-12-02T14:00:00Z"),
        ];
        let file = file.map(|(name, starts_at)| journal::Session {
            name: name.to_owned(),
            starts_at: starts_at.to_owned(),
        });
        let now = at("2026-12-02T15:00:00+00:00[UTC]");
        let sessions = of_file(&file, |name| name == "04:00", &now).expect("they have starts");
        assert_eq!(
            shown(&sessions),
            ["04:00 02 04:00+00:00", "14:00 03 14:00+00:00"]
        );
        let origin: Timestamp = "2026-12-02T00:00:00Z".parse().expect("an instant");
        assert_eq!(start(&sessions[0], origin), Time::from_secs(4.0 * 3600.0));
    }
}
