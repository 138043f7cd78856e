//! The header `Retry-After`.
//!
//! Source: RFC 9110, §10.2.3 (seconds or a date) and §5.6.7 (three forms of a date). Fractions of a second, which some servers
//! send, are understood too.

use jiff::civil::DateTime;
use jiff::fmt::strtime;

use crate::time::Duration;

/// The forms of an HTTP date, the preferred one first.
const DATES: [&str; 3] = [
    "%a, %d %b %Y %H:%M:%S GMT",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %e %H:%M:%S %Y",
];

/// How long to wait at `now` \[ns since 1970 UTC\]; `None` for what is neither a number of seconds nor a date.
pub(super) fn read(value: &str, now: i64) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs(seconds));
    }
    let date = DATES
        .iter()
        .find_map(|form| strtime::parse(form, value).ok()?.to_datetime().ok())?;
    Some(Duration::from_nanos(
        nanos(date)?.saturating_sub(now).max(0).unsigned_abs(),
    ))
}

/// Nanoseconds from 1970 to `date`, which is in UTC.
fn nanos(date: DateTime) -> Option<i64> {
    let stamp = jiff::tz::TimeZone::UTC.to_timestamp(date).ok()?;
    i64::try_from(stamp.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_three_forms_of_a_date() {
        // 30 seconds before Sun, 06 Nov 1994 08:49:37 GMT, the example of the RFC.
        let now = (784_111_777 - 30) * 1_000_000_000;
        let cases = [
            ("120", Some(120.0)),
            ("0", Some(0.0)),
            (" 0.5 ", Some(0.5)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(30.0)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(30.0)),
            ("Sun Nov  6 08:49:37 1994", Some(30.0)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0.0)),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("soon", None),
            ("", None),
        ];
        for (value, seconds) in cases {
            assert_eq!(
                read(value, now),
                seconds.map(Duration::from_secs),
                "{value}"
            );
        }
    }
}
