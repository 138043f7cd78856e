//! A tiny tokenizer of our own: byte-level byte-pair encoding whose merges spell a list of common words.
//!
//! A text is cut before each space; every byte is a token, and a piece that begins with the space and a known word, or with the
//! beginning of one, is one token as far as that goes. All merges start at the space of a piece and add one byte, so following
//! the longest known beginning is the same as applying the merges by rank (Sennrich, Haddow, Birch, ACL 2016). An answer is made
//! of whole words, so it counts the same here and in a client that loads the file ([`Tokenizer::file`]).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Words that are one token with the space before them. Answers go through them in this order, again and again.
const WORDS: &str = "\
    the warm layer lies over cold water and you do not see where one ends until a line goes down through it \
    first then more or less every day some come for an answer that was ready before they asked while others \
    wait as if time had stopped at their turn because nothing is here yet so they think this service slow \
    but most of them never know which part took long what we can say about such things from outside has to \
    be counted with care many times by day night week how often does it happen when will these people ask \
    again only those who measure in all hours find out why two same questions may get very other replies \
    write tell me short story please explain give list use model system prompt text word number between a I \
    he she his her there would could should about into than its also after good new work make like just over";

/// The special token that would end an answer.
pub(super) const END_OF_TEXT: &str = "<|endoftext|>";

/// The tokenizer.
#[derive(Debug)]
pub(super) struct Tokenizer {
    /// The bytes of each token: single bytes first, then merges in order of rank.
    tokens: Vec<Vec<u8>>,
    /// The token that another one becomes with one more byte.
    merges: BTreeMap<(u32, u8), u32>,
    /// The tokens of whole words, in order.
    words: Vec<u32>,
}

impl Tokenizer {
    pub(super) fn new() -> Self {
        let mut tokenizer = Self {
            tokens: (0..=u8::MAX).map(|byte| vec![byte]).collect(),
            merges: BTreeMap::new(),
            words: Vec::new(),
        };
        for word in WORDS.split_whitespace() {
            let token = tokenizer.learn(word);
            tokenizer.words.push(token);
        }
        tokenizer
    }

    /// Makes a token of a space and a word, and of every beginning of it.
    fn learn(&mut self, word: &str) -> u32 {
        let mut token = u32::from(b' ');
        for byte in word.bytes() {
            let next = self.tokens.len() as u32;
            let known = *self.merges.entry((token, byte)).or_insert(next);
            if known == next {
                let mut bytes = self.tokens[token as usize].clone();
                bytes.push(byte);
                self.tokens.push(bytes);
            }
            token = known;
        }
        token
    }

    /// The tokens of a text.
    pub(super) fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens: Vec<u32> = Vec::new();
        // The token that may still grow: it began with a space.
        let mut growing = false;
        for byte in text.bytes() {
            let grown = tokens
                .last()
                .filter(|_| growing)
                .and_then(|&last| self.merges.get(&(last, byte)));
            if let (Some(&grown), Some(last)) = (grown, tokens.last_mut()) {
                *last = grown;
                continue;
            }
            tokens.push(u32::from(byte));
            growing = byte == b' ';
        }
        tokens
    }

    /// How many tokens a text has.
    pub(super) fn count(&self, text: &str) -> u32 {
        u32::try_from(self.encode(text).len()).unwrap_or(u32::MAX)
    }

    /// The text of tokens, or the first number that is none.
    pub(super) fn decode(&self, tokens: &[u32]) -> Result<String, u32> {
        let mut bytes = Vec::new();
        for &token in tokens {
            match self.tokens.get(token as usize) {
                Some(own) => bytes.extend(own),
                None if token as usize == self.tokens.len() => {
                    bytes.extend(END_OF_TEXT.as_bytes());
                }
                None => return Err(token),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Tokens number `from` to `to` of an answer.
    pub(super) fn answer(&self, from: u32, to: u32) -> String {
        let words = (from..to).map(|index| self.words[index as usize % self.words.len()]);
        let bytes = words.flat_map(|token| self.tokens[token as usize].iter().copied());
        String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
    }

    /// The tokenizer as a `tokenizer.json` of the library `tokenizers`.
    pub(super) fn file(&self) -> Value {
        let end = self.tokens.len();
        let mut vocabulary: Map<String, Value> = Map::new();
        for (id, token) in self.tokens.iter().enumerate() {
            vocabulary.insert(printable(token), json!(id));
        }
        let merges = self.tokens.iter().skip(256).map(|token| {
            let (last, before) = token.split_last().unwrap_or((&0, &[]));
            json!([printable(before), printable(&[*last])])
        });
        let merges: Vec<Value> = merges.collect();
        vocabulary.insert(END_OF_TEXT.to_owned(), json!(end));
        let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": [{
                "id": end, "content": END_OF_TEXT, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true,
            }],
            "normalizer": null,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithNext", "invert": false},
                byte_level,
            ]},
            "post_processor": null,
            "decoder": byte_level,
            "model": {
                "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                "vocab": vocabulary, "merges": merges,
            },
        })
    }
}

/// Bytes as the byte-level alphabet writes them: a printable byte as itself, the others as characters from U+0100 on, in order.
fn printable(bytes: &[u8]) -> String {
    let is_shown = |byte: u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let shown = |&byte: &u8| {
        if is_shown(byte) {
            return char::from(byte);
        }
        let before = (0..byte).filter(|&other| !is_shown(other)).count() as u32;
        char::from_u32(256 + before).unwrap_or('?')
    };
    bytes.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_as_many_tokens_as_were_asked_for() {
        let tokenizer = Tokenizer::new();
        for (from, to) in [(0, 1), (0, 64), (5, 700), (3, 3)] {
            let text = tokenizer.answer(from, to);
            assert_eq!(tokenizer.count(&text), to - from);
            assert_eq!(tokenizer.decode(&tokenizer.encode(&text)), Ok(text));
        }
    }

    #[test]
    fn any_text_survives_coding() {
        let tokenizer = Tokenizer::new();
        for text in [
            "",
            " ",
            "  the  ",
            "these",
            " them then there",
            "naïve 水 \n\t\u{2028}",
            " I",
        ] {
            let tokens = tokenizer.encode(text);
            assert_eq!(tokenizer.decode(&tokens).as_deref(), Ok(text), "{tokens:?}");
        }
        assert_eq!(tokenizer.count(" the"), 1);
        assert_eq!(tokenizer.count("the"), 3);
        assert_eq!(tokenizer.decode(&[100_000]), Err(100_000));
    }

    #[test]
    fn the_alphabet_of_bytes_is_the_usual_one() {
        assert_eq!(printable(b" the"), "Ġthe");
        assert_eq!(printable(&[0, b'\n', 127, 173]), "ĀĊġŃ");
    }
}
