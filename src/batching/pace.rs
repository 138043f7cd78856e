//! How far an answer is, between its first token and its last, for whoever shows it while it is made.

use crate::time::{Duration, Time};

/// An answer under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Tokens that have left the replica, the one of this instant included.
    pub tokens: u32,
    /// When the next one leaves, as far as the work now fixed reaches; `None` while it waits.
    pub next_at: Option<Time>,
}

impl Pace {
    /// The pace of an answer of `total` tokens whose replica states only when the first and the last one leave: evenly.
    pub(super) fn even(now: Time, first: Time, last: Time, total: u32) -> Self {
        let steps = u128::from(total.saturating_sub(1));
        let span = u128::from(last.saturating_since(first).as_nanos());
        if now < first {
            return Self {
                tokens: 0,
                next_at: Some(first),
            };
        }
        let gone = u128::from(now.since(first).as_nanos());
        let done = (gone * steps).checked_div(span).unwrap_or(steps).min(steps);
        // Rounded up, so that at that instant the token is there.
        let next = (span * (done + 1)).div_ceil(steps.max(1));
        Self {
            tokens: done as u32 + 1,
            next_at: (done < steps).then(|| first + Duration::from_nanos(next as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_pace_has_each_token_at_the_instant_it_announces() {
        let (first, last) = (Time::from_nanos(1000), Time::from_nanos(2003));
        let mut now = Time::ZERO;
        for tokens in 0..7 {
            let pace = Pace::even(now, first, last, 7);
            assert_eq!(pace.tokens, tokens);
            now = pace.next_at.expect("there are more");
            assert_eq!(
                Pace::even(Time::from_nanos(now.as_nanos() - 1), first, last, 7).tokens,
                tokens
            );
        }
        assert_eq!(now, last);
        let over = Pace {
            tokens: 7,
            next_at: None,
        };
        assert_eq!(Pace::even(now, first, last, 7), over);
        assert_eq!(Pace::even(first, first, first, 7), over);
        assert_eq!(Pace::even(first, first, last, 1).next_at, None);
    }
}
