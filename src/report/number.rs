//! Numbers as a person reads them: about three digits, the unit behind, decimal points under each other.

use crate::stats::Interval;

/// What stands where a figure is undefined.
pub(super) const NONE: &str = "–";

/// Decimals that give a span about three digits.
fn decimals_of_seconds(seconds: f64) -> usize {
    match seconds.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 || size == 0.0 => 2,
        size if size >= 0.01 => 3,
        _ => 4,
    }
}

/// A span without its unit: `0.39`, `27.6`, `104`.
pub(super) fn bare_seconds(seconds: f64) -> String {
    format!("{seconds:.*}", decimals_of_seconds(seconds))
}

/// A span: `0.39 s`, `27.6 s`.
pub fn seconds(seconds: f64) -> String {
    format!("{} s", bare_seconds(seconds))
}

/// A short span in the unit that suits its size: `1.2 s`, `5.0 ms`, `80.0 us`.
pub(super) fn fine(seconds: f64) -> String {
    match seconds.abs() {
        size if size >= 1.0 => format!("{seconds:.1} s"),
        size if size >= 1e-3 || size == 0.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.1} us", seconds * 1e6),
    }
}

/// A span in the unit that suits its size: `40 s`, `5 min`, `6 h`, `12.5 d`.
pub fn span(seconds: f64) -> String {
    let (value, unit) = match seconds {
        long if long >= 172_800.0 => (long / 86_400.0, "d"),
        long if long >= 7200.0 => (long / 3600.0, "h"),
        long if long >= 120.0 => (long / 60.0, "min"),
        _ => {
            let text = bare_seconds(seconds);
            let is_whole = seconds.fract() == 0.0;
            let whole = text.split('.').next().filter(|_| is_whole);
            return format!("{} s", whole.unwrap_or(&text));
        }
    };
    let text = format!("{value:.1}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// Less than this is the rounding of a sum, not a share of any requests [%].
const NO_PERCENT: f64 = 1e-9;

/// Percent without the sign: `541`, `4.0`, `0.04`, `0.001`.
pub(super) fn bare_percent(percent: f64) -> String {
    let decimals = match percent.abs() {
        size if size < NO_PERCENT => return "0".to_owned(),
        size if size >= 99.95 => 0,
        size if size >= 1.0 => 1,
        size if size >= 0.005 => 2,
        // Never none of a digit that says something.
        size => (-size.log10()).ceil() as usize,
    };
    format!("{percent:.decimals$}")
}

/// Percent: `541 %`, `4.0 %`.
pub fn percent(percent: f64) -> String {
    format!("{} %", bare_percent(percent))
}

/// A plain quantity such as hours or money: `0.42`, `12.3`, `1 204`.
pub fn quantity(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => count(value.round() as u64),
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A number with so many significant digits, at least: `4.000`, `0.05714`, `14.98`.
pub(super) fn significant(value: f64, digits: u8) -> String {
    let before_point = if value == 0.0 {
        1.0
    } else {
        value.abs().log10().floor() + 1.0
    };
    let decimals = (f64::from(digits) - before_point).max(0.0) as usize;
    format!("{value:.decimals$}")
}

/// A factor: `66`, `1.4`.
pub fn factor(factor: f64) -> String {
    let decimals = usize::from(factor < 9.95);
    format!("{factor:.decimals$}")
}

/// A number of things, digits in groups of three from five on: `75`, `12 345`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// `count` with its noun: `1 request`, `3 requests`.
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", self::count(count))
}

/// A pair of spans: `25.1–27.6 s`, and one when both look alike.
pub fn range(low: f64, high: f64) -> String {
    let (from, to) = (bare_seconds(low), bare_seconds(high));
    if from == to {
        format!("{to} s")
    } else {
        format!("{from}–{to} s")
    }
}

/// The ends of an interval of spans, without unit: `0.36–0.40`.
pub(super) fn interval(interval: Interval) -> String {
    format!(
        "{}–{}",
        bare_seconds(interval.low),
        bare_seconds(interval.high)
    )
}

/// How many users do what `part` of `whole` requests did: `one user in 25 waits`, `40 % of users wait`.
pub(super) fn users(part: usize, whole: usize, verb: [&str; 2]) -> String {
    let [one, many] = verb;
    let every = whole as f64 / part as f64;
    match part {
        0 => format!("no user {one}"),
        _ if every < 3.0 => format!("{:.0} % of users {many}", 100.0 / every),
        _ if whole.is_multiple_of(part) => format!("one user in {every:.0} {one}"),
        _ => format!("about one user in {every:.0} {one}"),
    }
}

/// Texts filled up on the right so that, right-aligned, their decimal points stand under each other.
pub(super) fn line_up(texts: &mut [String]) {
    let tail = |text: &str| {
        text.split_once('.')
            .filter(|_| text.ends_with(|last: char| last.is_ascii_digit()))
            .map_or(0, |(_, tail)| tail.chars().count() + 1)
    };
    let longest = texts.iter().map(|text| tail(text)).max().unwrap_or(0);
    for text in texts {
        let missing = longest - tail(text);
        text.extend(std::iter::repeat_n(' ', missing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_three_digits_and_their_unit() {
        assert_eq!(seconds(0.387), "0.39 s");
        assert_eq!(seconds(27.61), "27.6 s");
        assert_eq!(seconds(0.018), "0.018 s");
        assert_eq!(percent(541.2), "541 %");
        assert_eq!(percent(4.0), "4.0 %");
        assert_eq!(
            [0.042, 0.006, 0.001, 0.000_34, -1e-17].map(percent),
            ["0.04 %", "0.01 %", "0.001 %", "0.0003 %", "0 %"]
        );
        assert_eq!(range(25.1, 27.6), "25.1–27.6 s");
        assert_eq!(range(25.11, 25.12), "25.1 s");
        assert_eq!(
            [span(21_600.0), span(300.0), span(90.0), span(2.5)],
            ["6 h", "5 min", "90 s", "2.50 s"]
        );
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(
            [
                significant(4.0, 4),
                significant(0.057_142_857, 4),
                significant(23_456.0, 4)
            ],
            ["4.000", "0.05714", "23456"]
        );
    }

    #[test]
    fn points_stand_under_each_other() {
        let mut texts = ["0.39", "27.6", "104", NONE].map(str::to_owned);
        line_up(&mut texts);
        assert_eq!(texts, ["0.39", "27.6 ", "104   ", "–   "]);
    }

    #[test]
    fn frequencies_are_exact_or_say_about() {
        let waits = |part, whole| users(part, whole, ["waits", "wait"]);
        assert_eq!(waits(3, 75), "one user in 25 waits");
        assert_eq!(waits(4, 75), "about one user in 19 waits");
        assert_eq!(waits(12, 30), "40 % of users wait");
        assert_eq!(waits(0, 30), "no user waits");
    }
}
