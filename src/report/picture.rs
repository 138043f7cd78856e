//! What pictures share: the typeface, how wide texts are in it, and what fits.

/// The typeface of everything.
pub(super) const FONT: &str = "sans-serif";

/// About how wide a text is \[px\]: whose typeface draws it is not known, so its letters are taken to be wide ones.
pub(super) fn width(text: &str, size: u32) -> u32 {
    text.chars().count() as u32 * size * 6 / 10
}

/// The text, its middle left out where it is wider than the room \[px\].
pub(super) fn shortened(text: &str, size: u32, room: u32) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let kept = (room * 10 / (size * 6)).saturating_sub(1) as usize;
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let (head, tail) = (&letters[..head], &letters[letters.len() - tail..]);
    let text = |letters: &[char]| letters.iter().collect::<String>();
    format!("{}…{}", text(head).trim_end(), text(tail).trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_wide_loses_its_middle() {
        assert_eq!(shortened("acme · model", 10, 72), "acme · model");
        assert_eq!(shortened("acme · a long model", 10, 72), "acme ·…model");
        assert_eq!(shortened("abc", 10, 6), "…");
    }
}
