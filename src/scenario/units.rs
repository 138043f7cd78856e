//! Quantities with units: how they are written, and the shortest form that reads back to the same value.

use super::problem::Complaint;
use crate::foreign::did_you_mean;
use crate::time::Duration;

/// Why a text is not the quantity asked for.
pub type Parsed<T> = Result<T, Complaint>;

/// Units of spans and what one is \[ns\]. The first of equal ones is printed.
const DURATIONS: &[(&str, u64)] = &[
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

/// Units of sizes and what one is \[bytes\].
const BYTES: &[(&str, u64)] = &[
    ("PB", 1_000_000_000_000_000),
    ("PiB", 1 << 50),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("kB", 1_000),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// Units of rates and what one is [1/s].
const RATES: &[(&str, f64)] = &[
    ("/s", 1.0),
    ("/min", 1.0 / 60.0),
    ("/m", 1.0 / 60.0),
    ("/h", 1.0 / 3600.0),
    ("/d", 1.0 / 86_400.0),
];

/// Units of bandwidths and what one is [bytes/s].
const BANDWIDTHS: &[(&str, f64)] = &[
    ("GB/s", 1e9),
    ("MB/s", 1e6),
    ("kB/s", 1e3),
    ("KB/s", 1e3),
    ("TB/s", 1e12),
    ("B/s", 1.0),
    ("GiB/s", 1_073_741_824.0),
    ("MiB/s", 1_048_576.0),
    ("KiB/s", 1024.0),
    ("Gbit/s", 1.25e8),
    ("Mbit/s", 1.25e5),
    ("kbit/s", 125.0),
    ("Tbit/s", 1.25e11),
];

/// Units of prices and what one is [USD/h].
const PRICES: &[(&str, f64)] = &[
    ("usd/h", 1.0),
    ("usd/s", 3600.0),
    ("usd/min", 60.0),
    ("usd/d", 1.0 / 24.0),
];

/// Percent.
const PERCENT: &[(&str, f64)] = &[("%", 0.01)];

/// Days of the week, Monday first.
const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// A number and the unit behind it, whatever that is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The number.
    pub number: f64,
    /// The unit; empty for plain numbers.
    pub unit: String,
}

impl Quantity {
    /// The number of this quantity in another one's unit; `None` if they are of different kinds.
    pub fn in_unit_of(&self, other: &Self) -> Option<f64> {
        if self.unit == other.unit {
            return Some(self.number);
        }
        let (this, that) = (kind_of(&self.unit)?, kind_of(&other.unit)?);
        (this.0 == that.0).then(|| self.number * this.1 / that.1)
    }
}

/// Which kind of quantity a unit is of, and what one of it is.
fn kind_of(unit: &str) -> Option<(usize, f64)> {
    let whole = |units: &[(&str, u64)]| -> Option<f64> {
        let found = units.iter().find(|(known, _)| *known == unit);
        found.map(|&(_, one)| one as f64)
    };
    let number = |units: &[(&str, f64)]| -> Option<f64> {
        let found = units.iter().find(|(known, _)| *known == unit);
        found.map(|&(_, one)| one)
    };
    let kinds = [
        whole(DURATIONS),
        whole(BYTES),
        number(RATES),
        number(BANDWIDTHS),
        number(PRICES),
        number(PERCENT),
        unit.is_empty().then_some(1.0),
    ];
    let found = kinds.into_iter().enumerate();
    found.into_iter().find_map(|(kind, one)| Some((kind, one?)))
}

/// A quantity of any kind such as `5m`, `0.4/s` or `70%`.
pub fn any(text: &str) -> Parsed<Quantity> {
    let (number, unit) = split_number(text.trim());
    let unit = unit.trim();
    let found = number
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite());
    match found.filter(|_| kind_of(unit).is_some()) {
        Some(number) => Ok(Quantity {
            number,
            unit: unit.to_owned(),
        }),
        None => Err(Complaint::new(
            "must be a number with a unit",
            format!("is {}", quoted(text)),
            "write a number and at most one unit, for example \"5m\", \"0.4/s\", \"70%\" or 3",
        )),
    }
}

/// As it is written.
pub fn print_any(quantity: &Quantity) -> String {
    if quantity.unit.is_empty() {
        print_number(quantity.number)
    } else {
        quoted(&format!("{}{}", quantity.number, quantity.unit))
    }
}

/// A span such as `250ms`, `5m` (minutes) or `1h30m`.
pub fn duration(text: &str) -> Parsed<Duration> {
    let mut rest = text.trim();
    let mut nanos: u64 = 0;
    let mut last = u64::MAX;
    loop {
        let (number, after) = split_number(rest);
        let unit_end = after
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(after.len());
        let unit = unit_of(
            number,
            after[..unit_end].trim(),
            DURATIONS,
            "a duration",
            "90s",
        )?;
        if unit >= last {
            return Err(Complaint::new(
                "must be a duration",
                "units go from large to small",
                "write a duration, for example \"1h30m\"",
            ));
        }
        last = unit;
        nanos = scaled(number, unit)?
            .checked_add(nanos)
            .ok_or_else(too_large)?;
        rest = after[unit_end..].trim_start();
        if rest.is_empty() {
            return Ok(Duration::from_nanos(nanos));
        }
    }
}

/// The shortest way to write a span.
pub fn print_duration(span: Duration) -> String {
    let nanos = span.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    if nanos > 1_000_000_000 && !nanos.is_multiple_of(1_000_000) {
        let digits = format!("{:09}", nanos % 1_000_000_000);
        return format!(
            "{}.{}s",
            nanos / 1_000_000_000,
            digits.trim_end_matches('0')
        );
    }
    print_scaled(nanos, DURATIONS)
}

/// A size such as `595GB` (1e9 bytes each) or `16GiB` (2³⁰) \[bytes\].
pub fn bytes(text: &str) -> Parsed<u64> {
    let (number, unit) = split_number(text.trim());
    scaled(number, unit_of(number, unit, BYTES, "a size", "16GiB")?)
}

/// The shortest way to write a size \[bytes\].
pub fn print_bytes(bytes: u64) -> String {
    print_scaled(bytes, BYTES)
}

/// A rate such as `0.4/s`, `30/min`, `24/h` or `2/d` [1/s].
pub fn rate(text: &str) -> Parsed<f64> {
    quantity(text, RATES, "a rate", "0.4/s")
}

/// The shortest way to write a rate [1/s].
pub fn print_rate(rate: f64) -> String {
    print_quantity(rate, RATES)
}

/// A bandwidth such as `12.5GB/s` or `100Gbit/s` [bytes/s].
pub fn bandwidth(text: &str) -> Parsed<f64> {
    quantity(text, BANDWIDTHS, "a bandwidth", "12.5GB/s")
}

/// The shortest way to write a bandwidth [bytes/s].
pub fn print_bandwidth(bandwidth: f64) -> String {
    print_quantity(bandwidth, BANDWIDTHS)
}

/// A price such as `3.30usd/h` [USD/h].
pub fn price(text: &str) -> Parsed<f64> {
    quantity(text, PRICES, "a price", "3.30usd/h")
}

/// The shortest way to write a price [USD/h].
pub fn print_price(price: f64) -> String {
    print_quantity(price, PRICES)
}

/// A share such as `70%` \[1\].
pub fn percent(text: &str) -> Parsed<f64> {
    quantity(text, PERCENT, "a share", "70%")
}

/// A share as TOML: in percent, or as a plain number when percent cannot say it exactly \[1\].
pub fn print_percent(share: f64) -> String {
    let text = print_quantity(share, PERCENT);
    if text.is_empty() {
        print_number(share)
    } else {
        quoted(&text)
    }
}

/// A time of day such as `08:00` or `23:59:30`, since midnight; `24:00` is the day's end.
pub fn time_of_day(text: &str) -> Parsed<Duration> {
    let bad = || {
        Complaint::new(
            "must be a time of day",
            format!("is {}", quoted(text)),
            "write hours and minutes, for example \"08:00\"",
        )
    };
    let parts: Vec<&str> = text.trim().split(':').collect();
    let mut numbers = [0; 3];
    if !(2..=3).contains(&parts.len()) {
        return Err(bad());
    }
    for (number, part) in numbers.iter_mut().zip(&parts) {
        let digits = matches!(part.len(), 1..=2) && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| digits).ok_or_else(bad)?;
    }
    let [hours, minutes, seconds]: [u64; 3] = numbers;
    let total = hours * 3600 + minutes * 60 + seconds;
    if minutes > 59 || seconds > 59 || total > 86_400 {
        return Err(bad());
    }
    Ok(Duration::from_nanos(total * 1_000_000_000))
}

/// A time of day, to the second.
pub fn print_time_of_day(since_midnight: Duration) -> String {
    let seconds = since_midnight.as_nanos() / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match seconds {
        0 => format!("{hours:02}:{minutes:02}"),
        _ => format!("{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// A time of the week such as `Mon 14:00` or `sunday 04:00:30`, since Monday's midnight.
pub fn time_of_week(text: &str) -> Parsed<Duration> {
    let help = "write a day and a time, for example \"Mon 14:00\"";
    let (name, time) = text.trim().split_once(char::is_whitespace).ok_or_else(|| {
        Complaint::new(
            "must be a time of the week",
            format!("is {}", quoted(text)),
            help,
        )
    })?;
    let day = DAYS
        .iter()
        .position(|day| name.eq_ignore_ascii_case(day) || name.eq_ignore_ascii_case(&day[..3]))
        .ok_or_else(|| {
            let help = did_you_mean(name, DAYS.iter().flat_map(|day| [&day[..3], day]))
                .map_or(help.to_owned(), |day| format!("did you mean `{day}`?"));
            Complaint::new(
                "must be a time of the week",
                format!("{} is not a day", quoted(name)),
                help,
            )
        })?;
    let time = time_of_day(time)?;
    if time.as_nanos() == DURATIONS[0].1 {
        return Err(Complaint::new(
            "must be a time of the week",
            "ends the day",
            "write 00:00 of the next day",
        ));
    }
    Ok(time + Duration::from_nanos(DURATIONS[0].1) * day as u64)
}

/// A time of the week, to the second.
pub fn print_time_of_week(since_monday: Duration) -> String {
    let day = since_monday.as_nanos() / DURATIONS[0].1;
    let time = Duration::from_nanos(since_monday.as_nanos() % DURATIONS[0].1);
    format!(
        "{} {}",
        &DAYS[(day % 7) as usize][..3],
        print_time_of_day(time)
    )
}

/// A number the way people write it, and TOML reads it: `3`, `0.4`, `1e300`.
pub fn print_number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{number}")
    } else {
        format!("{number:?}")
    }
}

/// Text in TOML's quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.extend(format!("\\u{:04X}", u32::from(c)).chars()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Splits a text after its number, if it starts with one; blanks between are dropped.
fn split_number(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        from + bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let mut end = digits(sign);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let start = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if start < bytes.len() && digits(start) > start {
            end = digits(start);
        }
    }
    (&text[..end], text[end..].trim_start())
}

/// What one of the unit is.
fn unit_of<F: Copy>(
    number: &str,
    unit: &str,
    units: &[(&str, F)],
    what: &str,
    example: &str,
) -> Parsed<F> {
    let help = format!("write {what} with its unit, for example \"{example}\"");
    if !number.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(Complaint::new(
            format!("must be {what}"),
            "does not start with a number",
            help,
        ));
    }
    if unit.is_empty() {
        return Err(Complaint::new(
            format!("must be {what}"),
            "has no unit",
            help,
        ));
    }
    let found = units.iter().find(|(name, _)| *name == unit);
    found.map(|&(_, factor)| factor).ok_or_else(|| {
        let names: Vec<&str> = units.iter().map(|&(name, _)| name).collect();
        Complaint::new(
            format!("must be {what}"),
            format!("`{unit}` is not a unit of {what}"),
            format!("units are {}", names.join(", ")),
        )
    })
}

/// The number times the unit, exact to the last digit and rounded to a whole.
fn scaled(number: &str, unit: u64) -> Parsed<u64> {
    if number.starts_with('-') && number.bytes().any(|byte| matches!(byte, b'1'..=b'9')) {
        return Err(Complaint::new(
            "must not be negative",
            format!("is {number}"),
            "use zero or more",
        ));
    }
    let digits = number.trim_start_matches(['+', '-']);
    if digits.contains(['e', 'E']) {
        let value = digits.parse::<f64>().map_err(|_| too_large())? * unit as f64;
        // 2⁶⁴ is the first that does not fit.
        return if value < u64::MAX as f64 {
            Ok(value.round() as u64)
        } else {
            Err(too_large())
        };
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = if whole.is_empty() {
        0
    } else {
        whole.parse::<u128>().map_err(|_| too_large())?
    };
    // Eighteen digits are finer than any unit is long.
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10_u128.pow(fraction.len() as u32);
    let part = fraction.parse::<u128>().unwrap_or(0) * u128::from(unit);
    whole
        .checked_mul(u128::from(unit))
        .and_then(|whole| whole.checked_add((part + scale / 2) / scale))
        .and_then(|total| u64::try_from(total).ok())
        .ok_or_else(too_large)
}

/// The number times the unit.
fn quantity(text: &str, units: &[(&str, f64)], what: &str, example: &str) -> Parsed<f64> {
    let (number, unit) = split_number(text.trim());
    let factor = unit_of(number, unit, units, what, example)?;
    let number: f64 = number.parse().map_err(|_| too_large())?;
    let value = times(number, factor);
    if value.is_finite() {
        Ok(value)
    } else {
        Err(too_large())
    }
}

/// Multiplies by the unit, dividing by its inverse where that is the whole number: `30/min` is exactly 0.5/s, and 70 % 0.7.
fn times(number: f64, factor: f64) -> f64 {
    if factor < 1.0 {
        number / (1.0 / factor).round()
    } else {
        number * factor
    }
}

fn too_large() -> Complaint {
    Complaint::new("is too large", "does not fit", "use a smaller value")
}

fn print_scaled(value: u64, units: &[(&str, u64)]) -> String {
    let exact = units.iter().filter(|(_, unit)| value.is_multiple_of(*unit));
    let texts = exact.map(|(name, unit)| format!("{}{name}", value / unit));
    // Of equally short ones the first. Zero has them all.
    if value == 0 {
        "0B".to_owned()
    } else {
        texts.min_by_key(String::len).unwrap_or_default()
    }
}

/// The first unit in which the number is short, or else the one in which it is shortest.
fn print_quantity(value: f64, units: &[(&str, f64)]) -> String {
    let mut shortest: Option<(String, &str)> = None;
    for &(name, factor) in units {
        let number = if factor < 1.0 {
            value * (1.0 / factor).round()
        } else {
            value / factor
        };
        // Scaling back may miss by a bit; what people wrote has few digits.
        let rounded = format!("{number:.12e}").parse().unwrap_or(number);
        let Some(number) = [rounded, number]
            .into_iter()
            .find(|&number| times(number, factor) == value)
        else {
            continue;
        };
        let number = print_number(number);
        if number.len() <= 5 {
            return number + name;
        }
        if shortest
            .as_ref()
            .is_none_or(|(least, _)| number.len() < least.len())
        {
            shortest = Some((number, name));
        }
    }
    shortest.map_or_else(String::new, |(number, name)| number + name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanos(text: &str) -> u64 {
        duration(text).unwrap().as_nanos()
    }

    #[test]
    fn durations() {
        assert_eq!(nanos("250ms"), 250_000_000);
        assert_eq!(nanos("5m"), 300_000_000_000);
        assert_eq!(nanos("1h30m"), 5_400_000_000_000);
        assert_eq!(nanos(" 1h 30 m "), 5_400_000_000_000);
        assert_eq!(nanos("1.5s"), 1_500_000_000);
        assert_eq!(nanos("1.234567891s"), 1_234_567_891);
        assert_eq!(nanos("2d"), 172_800_000_000_000);
        assert_eq!(nanos("3us"), 3_000);
        assert_eq!(nanos("10ns"), 10);
        assert_eq!(nanos("1e3s"), 1_000_000_000_000);
        for bad in [
            "",
            "90",
            "s",
            "-1s",
            "1e308s",
            "nan s",
            "inf",
            "infs",
            "1m1h",
            "5 minutes",
            "1..5s",
            "1s!",
            "900000d",
            "s5",
            "1h30",
            "99999999999999999999999999999999999999999999s",
            "99999999999999999999999999999999999999s",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn other_quantities() {
        assert_eq!(bytes("595GB"), Ok(595_000_000_000));
        assert_eq!(bytes("16GiB"), Ok(16 << 30));
        assert_eq!(bytes("1.5 kB"), Ok(1500));
        assert_eq!(rate("30/min"), Ok(0.5));
        assert_eq!(rate("24/h"), Ok(24.0 / 3600.0));
        assert_eq!(rate("2/d"), Ok(2.0 / 86_400.0));
        assert_eq!(bandwidth("100Gbit/s"), bandwidth("12.5GB/s"));
        assert_eq!(price("3.30usd/h"), Ok(3.3));
        assert_eq!(percent("70%"), Ok(0.7));
        assert!(
            rate("1e308TB/s").is_err()
                && bandwidth("1e308TB/s").is_err()
                && bytes("1e30GB").is_err()
        );
    }

    #[test]
    fn times() {
        assert_eq!(time_of_day("08:00").unwrap().as_secs(), 28_800.0);
        assert_eq!(time_of_day("24:00").unwrap().as_secs(), 86_400.0);
        assert_eq!(time_of_week("Mon 14:00").unwrap().as_secs(), 50_400.0);
        let sunday = 6.0 * 86_400.0 + 4.0 * 3600.0 + 30.0;
        assert_eq!(time_of_week("sunday 04:00:30").unwrap().as_secs(), sunday);
        assert_eq!(
            print_time_of_week(Duration::from_secs(sunday)),
            "Sun 04:00:30"
        );
        for bad in [
            "", "8", "8:0:0:0", "24:01", "12:60", "+1:00", "é:00", "1:+2",
        ] {
            assert!(time_of_day(bad).is_err(), "{bad}");
        }
        for bad in ["Mon", "Mno 14:00", "Mon 24:00", "14:00"] {
            assert!(time_of_week(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn prints_the_shortest() {
        for text in [
            "250ms",
            "5m",
            "90m",
            "90s",
            "2d",
            "10ns",
            "1.234567891s",
            "0s",
            "1500ms",
        ] {
            assert_eq!(print_duration(duration(text).unwrap()), text);
        }
        for text in ["595GB", "16GiB", "1500MB", "7B", "0B"] {
            assert_eq!(print_bytes(bytes(text).unwrap()), text);
        }
        for text in ["0.4/s", "0.4/min", "7/h", "2/d", "0/s", "1e300/s"] {
            assert_eq!(print_rate(rate(text).unwrap()), text);
        }
        assert_eq!(print_bandwidth(12.5e9), "12.5GB/s");
        assert_eq!(print_price(3.3), "3.3usd/h");
        assert_eq!(print_percent(0.7), "\"70%\"");
    }

    proptest! {
        #[test]
        fn prints_what_reads_back(nanos: u64, size: u64, value in prop::num::f64::NORMAL | prop::num::f64::ZERO) {
            prop_assert_eq!(duration(&print_duration(Duration::from_nanos(nanos))), Ok(Duration::from_nanos(nanos)));
            prop_assert_eq!(bytes(&print_bytes(size)), Ok(size));
            prop_assert_eq!(rate(&print_rate(value)), Ok(value));
            prop_assert_eq!(bandwidth(&print_bandwidth(value)), Ok(value));
            prop_assert_eq!(price(&print_price(value)), Ok(value));
        }

        #[test]
        fn prints_percent_that_reads_back(share in -1e3..1e3) {
            let text = print_percent(share);
            let back = match text.trim_matches('"') {
                inner if inner.ends_with('%') => percent(inner).unwrap(),
                number => number.parse().unwrap(),
            };
            prop_assert_eq!(back, share);
        }

        #[test]
        fn never_panics(text in "[0-9.eE+-]{0,6}[a-zµ/% :]{0,4}[0-9]{0,3}\\PC{0,3}") {
            let _ = (duration(&text), bytes(&text), rate(&text), percent(&text), time_of_day(&text), time_of_week(&text));
        }
    }
}
