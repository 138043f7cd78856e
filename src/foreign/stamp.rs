//! When something happened, in whatever way files say it.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::decimal::{Unit, nanos};
use crate::time::Duration;

/// From here on a number of seconds is a date and not a time since some start: 2001-09-09.
const EPOCH_FROM: i128 = 1_000_000_000 * 1_000_000_000;

/// An instant of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// Nanoseconds since 1970 UTC.
    Wall(i128),
    /// Nanoseconds since a start that nobody knows.
    Relative(i128),
}

impl Stamp {
    /// Nanoseconds since its own origin.
    pub(crate) fn nanos(self) -> i128 {
        match self {
            Self::Wall(nanos) | Self::Relative(nanos) => nanos,
        }
    }

    /// Nanoseconds since 1970 UTC, where it is a date.
    pub(crate) fn wall(self) -> Option<i128> {
        match self {
            Self::Wall(nanos) => Some(nanos),
            Self::Relative(_) => None,
        }
    }

    /// An instant by its size: what would be a date since 2001 is one.
    pub(crate) fn of_nanos(nanos: i128) -> Self {
        if nanos >= EPOCH_FROM {
            Self::Wall(nanos)
        } else {
            Self::Relative(nanos)
        }
    }

    /// A number of `unit`s, not negative.
    pub(crate) fn of_number(literal: &str, unit: Unit) -> Option<Self> {
        let nanos = nanos(literal, unit)?;
        (nanos >= 0).then(|| Self::of_nanos(nanos))
    }

    /// A date and time: ISO 8601 with `T` or a space, up to nine digits of a second, with an offset, `Z` or nothing (UTC).
    pub(crate) fn of_date(text: &str) -> Option<Self> {
        let text = with_seconds(text.trim());
        let zoned = text.parse::<Timestamp>().ok();
        let found = zoned.or_else(|| {
            let civil: DateTime = text.parse().ok()?;
            civil
                .to_zoned_datetime(TimeZone::UTC)
                .ok()
                .map(|z| z.timestamp())
        });
        Some(Self::Wall(found?.as_nanosecond()))
    }
}

/// `2026-05-20T01:00Z` with its seconds spelt out; everything else as it is.
fn with_seconds(text: &str) -> String {
    let Some((at, _)) = text.match_indices(':').next() else {
        return text.to_owned();
    };
    let end = at + 3;
    let is_short = text.len() >= end && text.is_char_boundary(end) && !text[end..].starts_with(':');
    if at == 13 && is_short {
        return format!("{}:00{}", &text[..end], &text[end..]);
    }
    text.to_owned()
}

/// The hour of the day of a wall instant in a zone.
pub(crate) fn hour(wall: i128, zone: &TimeZone) -> Option<u8> {
    let at = Timestamp::from_nanosecond(wall).ok()?;
    u8::try_from(at.to_zoned_datetime(zone.clone()).hour()).ok()
}

/// A wall instant as a time of the week in a zone, from Monday 00:00.
pub(crate) fn time_of_week(wall: i128, zone: &TimeZone) -> Option<Duration> {
    let at = Timestamp::from_nanosecond(wall)
        .ok()?
        .to_zoned_datetime(zone.clone());
    let days = u64::try_from(at.weekday().to_monday_zero_offset()).ok()?;
    let time = at.time().duration_since(jiff::civil::Time::midnight());
    let nanos = u64::try_from(time.as_nanos()).ok()?;
    Some(Duration::from_nanos(days * 86_400_000_000_000 + nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_date_is_the_same_instant() {
        let expected = Some(Stamp::Wall(1_700_000_000_002_000_000));
        for text in [
            "2023-11-14T22:13:20.002Z",
            "2023-11-14 22:13:20.0020000",
            "2023-11-14T22:13:20.002",
            "2023-11-14T22:13:20.002+00:00",
            "2023-11-14T23:13:20.002+01:00",
        ] {
            assert_eq!(Stamp::of_date(text), expected, "{text}");
        }
        let hour = Stamp::of_date("2026-05-20T01:00Z");
        assert_eq!(hour, Stamp::of_date("2026-05-20T01:00:00Z"));
        assert_eq!(Stamp::of_date("yesterday"), None);
        assert_eq!(Stamp::of_date("2023-02-30T00:00:00Z"), None);
    }

    #[test]
    fn numbers_are_dates_when_they_are_large_enough() {
        let seconds = |literal| Stamp::of_number(literal, Unit::Seconds);
        assert_eq!(seconds("0"), Some(Stamp::Relative(0)));
        assert_eq!(
            seconds("1700000000"),
            Some(Stamp::Wall(1_700_000_000_000_000_000))
        );
        assert_eq!(
            Stamp::of_number("1700000000000", Unit::Milliseconds),
            seconds("1700000000")
        );
        assert_eq!(seconds("-1"), None);
    }

    #[test]
    fn hours_are_those_of_the_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(9));
        assert_eq!(hour(1_700_000_000_000_000_000, &TimeZone::UTC), Some(22));
        assert_eq!(hour(1_700_000_000_000_000_000, &zone), Some(7));
    }
}
