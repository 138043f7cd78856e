//! Decimal numbers as they stand in files, in whole nanoseconds without a detour through binary fractions.
//!
//! An epoch stamp such as `1796144605.2743819` has more digits than a double keeps to a nanosecond; read exactly, a trace with
//! epoch stamps and the same trace with relative ones give the same times.

use std::str::FromStr;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl Unit {
    /// Every unit, longest first.
    pub const ALL: [Self; 4] = [
        Self::Seconds,
        Self::Milliseconds,
        Self::Microseconds,
        Self::Nanoseconds,
    ];

    /// The unit's sign.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        }
    }

    /// Nanoseconds in the unit, as a power of ten.
    fn power(self) -> i32 {
        match self {
            Self::Seconds => 9,
            Self::Milliseconds => 6,
            Self::Microseconds => 3,
            Self::Nanoseconds => 0,
        }
    }

    /// The unit in which a name such as `ttft_ms`, `TTFT (ms)` or `ttft_seconds` says that it counts.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let lower = name.to_lowercase();
        let last = lower
            .split(|letter: char| !letter.is_alphanumeric())
            .rfind(|word| !word.is_empty())?;
        Self::of_sign(last)
    }

    /// The unit of this sign or name.
    pub(crate) fn of_sign(sign: &str) -> Option<Self> {
        match sign {
            "s" | "sec" | "secs" | "second" | "seconds" => Some(Self::Seconds),
            "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => Some(Self::Milliseconds),
            "us" | "µs" | "μs" | "micros" | "microsecond" | "microseconds" => {
                Some(Self::Microseconds)
            }
            "ns" | "nanos" | "nanosecond" | "nanoseconds" => Some(Self::Nanoseconds),
            _ => None,
        }
    }
}

/// A sign that is no [`Unit`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown unit `{0}`; it is `s`, `ms`, `us` or `ns`")]
pub struct UnknownUnit(String);

impl FromStr for Unit {
    type Err = UnknownUnit;

    fn from_str(sign: &str) -> Result<Self, UnknownUnit> {
        Self::of_sign(sign).ok_or_else(|| UnknownUnit(sign.to_owned()))
    }
}

/// A decimal number in `unit` as nanoseconds, rounded to the nearest one; `None` for what is no plain finite decimal number
/// or lies outside of all time.
pub(crate) fn nanos(literal: &str, unit: Unit) -> Option<i128> {
    let Parts {
        is_negative,
        whole,
        fraction,
        exponent,
    } = Parts::of(literal)?;
    let exponent = exponent.parse::<i32>().ok()?;
    // 30 digits of a fraction reach far below a nanosecond in every unit.
    let fraction = &fraction[..fraction.len().min(30)];
    let mantissa = format!("{whole}{fraction}");
    let mantissa = mantissa.trim_start_matches('0');
    let mantissa: i128 = if mantissa.is_empty() {
        0
    } else {
        mantissa.parse().ok()?
    };
    let power = exponent
        .checked_add(unit.power())?
        .checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scale = |power: u32| 10_i128.checked_pow(power);
    let size = match u32::try_from(power) {
        Ok(power) => mantissa.checked_mul(scale(power)?)?,
        Err(_) => scale(power.unsigned_abs()).map_or(0, |scale| {
            mantissa / scale + i128::from(mantissa % scale >= scale - scale / 2)
        }),
    };
    Some(if is_negative { -size } else { size })
}

/// The parts of a plain decimal number.
struct Parts<'a> {
    is_negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: &'a str,
}

impl<'a> Parts<'a> {
    /// The parts of a literal; `None` for what is no plain decimal number.
    fn of(literal: &'a str) -> Option<Self> {
        let (is_negative, size) = match literal.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, literal.strip_prefix('+').unwrap_or(literal)),
        };
        let (digits, exponent) = size.split_once(['e', 'E']).unwrap_or((size, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let power = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        let is_decimal = is_plain(whole) && is_plain(fraction) && is_plain(power);
        let is_there = whole.len() + fraction.len() > 0 && !power.is_empty();
        (is_decimal && is_there).then_some(Self {
            is_negative,
            whole,
            fraction,
            exponent,
        })
    }
}

/// What is needed in place of a number that was not taken as a span: it must be `otherwise`, or less where only its size is
/// wrong.
pub(crate) fn needed(literal: &str, unit: Unit, otherwise: &str) -> String {
    let sign = unit.name();
    let is_too_large = Parts::of(literal).is_some_and(|parts| {
        // A power far below zero is no more than zero.
        !parts.is_negative && !parts.exponent.starts_with('-')
    }) && nanos(literal, unit).is_none_or(|nanos| nanos > LONGEST);
    if is_too_large {
        let most = LONGEST / 10_i128.pow(unit.power().unsigned_abs());
        return format!("at most {most} [{sign}]");
    }
    format!("{otherwise} [{sign}]")
}

/// The longest span \[ns\], 584 years.
const LONGEST: i128 = u64::MAX as i128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (literal, unit, expected) in [
            ("0.2019656259999465", Unit::Seconds, Some(201_965_626)),
            ("201.803786", Unit::Milliseconds, Some(201_803_786)),
            (
                "1796144605.2743819",
                Unit::Seconds,
                Some(1_796_144_605_274_381_900),
            ),
            ("2.2393e-05", Unit::Seconds, Some(22_393)),
            ("1e3", Unit::Nanoseconds, Some(1000)),
            ("0.5", Unit::Nanoseconds, Some(1)),
            ("0.4", Unit::Nanoseconds, Some(0)),
            ("-1", Unit::Microseconds, Some(-1000)),
            ("0", Unit::Seconds, Some(0)),
            (".5", Unit::Seconds, Some(500_000_000)),
            ("", Unit::Seconds, None),
            (".", Unit::Seconds, None),
            ("0x1", Unit::Seconds, None),
            ("inf", Unit::Seconds, None),
            ("1e99", Unit::Seconds, None),
            ("1e", Unit::Seconds, None),
            ("1e+-1", Unit::Seconds, None),
            ("1e-99", Unit::Seconds, Some(0)),
        ] {
            assert_eq!(nanos(literal, unit), expected, "{literal}");
        }
    }

    #[test]
    fn what_is_too_large_hears_the_limit() {
        for (literal, expected) in [
            ("1e15", "at most 18446744073709 [ms]"),
            ("1e400", "at most 18446744073709 [ms]"),
            ("1e99999999999", "at most 18446744073709 [ms]"),
            ("-1e400", "a number [ms]"),
            ("inf", "a number [ms]"),
            ("soon", "a number [ms]"),
        ] {
            let needed = needed(literal, Unit::Milliseconds, "a number");
            assert_eq!(needed, expected, "{literal}");
        }
    }

    #[test]
    fn names_tell_their_unit() {
        for (name, unit) in [
            ("ttft_ms", Some(Unit::Milliseconds)),
            ("TTFT (ms)", Some(Unit::Milliseconds)),
            ("ttft_s", Some(Unit::Seconds)),
            ("time_to_first_token_seconds", Some(Unit::Seconds)),
            ("request_start_ns", Some(Unit::Nanoseconds)),
            ("ttft", None),
            ("first_tokens", None),
        ] {
            assert_eq!(Unit::of_name(name), unit, "{name}");
        }
    }
}
