//! An answer as it arrives: instants, tokens and the verdict at its end.
//!
//! Invariant: every instant is that of the read that completed the event. An answer is complete when it says so, by a
//! `finish_reason` or by `[DONE]`; an end of the stream says nothing.

use super::chunk::{self, Chunk, Said};
use super::sse::{Event, Item};
use crate::time::{Duration, Time};
use crate::timeline::{Chunks, Reason, Timeline, Usage};

/// What has arrived so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// The instants that lie in the body.
    pub(super) timeline: Timeline,
    pub(super) usage: Usage,
    pub(super) finish_reason: Option<String>,
    pub(super) content: String,
    /// What went wrong within it.
    fault: Option<Reason>,
    is_done: bool,
    /// Events of any kind: none at all is no event stream.
    events: usize,
    chunks: u32,
    gaps: Vec<Duration>,
    first_bytes: usize,
    bytes: usize,
    /// The server's own count of the first chunk.
    first_tokens: Option<u32>,
    is_whole: bool,
}

impl Answer {
    /// Takes what the stream completed at `at`.
    pub(super) fn take(&mut self, item: Item, at: Time) {
        match item {
            Item::Comment(_) => {
                self.timeline.first_comment.get_or_insert(at);
            }
            Item::Event(event) if !self.is_over() => {
                self.events += 1;
                self.take_event(&event, at);
            }
            Item::Event(_) => {}
        }
    }

    /// Takes a whole answer, sent as one JSON object, complete at `at`.
    pub(super) fn take_whole(&mut self, body: &[u8], at: Time) {
        self.is_whole = true;
        match serde_json::from_slice(body) {
            Ok(value) => {
                let said = chunk::read_value(&value);
                self.is_done = matches!(said, Said::Chunk(_));
                if said == Said::Nothing {
                    self.refuse("a JSON body without choices");
                }
                self.say(said, at);
            }
            Err(error) => self.refuse(&format!("the body is not JSON: {error}")),
        }
    }

    /// Notes that the answer cannot be read on.
    pub(super) fn refuse(&mut self, message: &str) {
        let message = message.to_owned();
        self.fault.get_or_insert(Reason::ParseError { message });
    }

    /// Whether nothing that may follow counts.
    pub(super) fn is_over(&self) -> bool {
        self.is_done || self.fault.is_some()
    }

    /// Whether the answer is complete, though a count of tokens may follow.
    pub(super) fn is_complete(&self) -> bool {
        self.fault.is_none() && (self.is_done || self.finish_reason.is_some())
    }

    /// Whether a token has come.
    pub(super) fn has_token(&self) -> bool {
        self.timeline.first_token.is_some()
    }

    /// Whether an event has come.
    pub(super) fn has_event(&self) -> bool {
        self.events > 0
    }

    /// Tokens so far: the server's count, else chunks that hold one.
    pub(super) fn tokens(&self) -> u32 {
        match self.usage.completion_tokens {
            Some(count) if self.has_token() => count.max(1),
            _ => self.chunks,
        }
    }

    /// What is wrong with the answer when nothing more comes.
    pub(super) fn verdict(&self) -> Option<Reason> {
        if self.fault.is_some() {
            return self.fault.clone();
        }
        if !self.is_complete() {
            return Some(Reason::Truncated {
                tokens: self.tokens(),
            });
        }
        (!self.has_token()).then_some(Reason::Empty)
    }

    /// How it was cut.
    pub(super) fn chunks(&self) -> Chunks {
        let mut gaps = self.gaps.clone();
        gaps.sort_unstable();
        let estimate = || {
            let tokens = f64::from(self.usage.completion_tokens?);
            let share = self.first_bytes as f64 / self.bytes.max(1) as f64;
            Some((tokens * share).round().max(1.0) as u32)
        };
        Chunks {
            count: self.chunks,
            gap_median: gaps.get(gaps.len() / 2).copied(),
            gap_max: gaps.last().copied(),
            first_tokens: self
                .first_tokens
                .or_else(|| estimate().filter(|_| self.has_token())),
            is_streamed: !self.is_whole,
        }
    }

    fn take_event(&mut self, event: &Event, at: Time) {
        match chunk::read_event(event) {
            Ok(said) => self.say(said, at),
            Err(message) => self.refuse(&message),
        }
    }

    fn say(&mut self, said: Said, at: Time) {
        match said {
            Said::Nothing => {}
            Said::Done => self.is_done = true,
            Said::Error(message) => {
                let tokens = self.tokens();
                self.fault = Some(Reason::StreamError { tokens, message });
            }
            Said::Chunk(chunk) => self.add(chunk, at),
        }
    }

    fn add(&mut self, chunk: Chunk, at: Time) {
        let bytes = chunk.token_bytes();
        let seen = &mut self.timeline;
        if chunk.names_role && bytes == 0 {
            seen.role_chunk.get_or_insert(at);
        }
        if !chunk.reasoning.is_empty() {
            seen.first_reasoning.get_or_insert(at);
        }
        if !chunk.content.is_empty() {
            seen.first_content.get_or_insert(at);
        }
        if chunk.content.contains(|c: char| !c.is_whitespace()) {
            seen.first_visible.get_or_insert(at);
        }
        if bytes > 0 {
            if let Some(last) = seen.last_token.replace(at) {
                self.gaps.push(at.saturating_since(last));
            }
            self.chunks = self.chunks.saturating_add(1);
            self.bytes += bytes;
            if seen.first_token.is_none() {
                seen.first_token = Some(at);
                self.first_bytes = bytes;
                self.first_tokens = chunk.usage.and_then(|usage| usage.completion_tokens);
            }
        }
        self.content.push_str(&chunk.content);
        self.finish_reason = chunk.finish_reason.or(self.finish_reason.take());
        self.usage = chunk.usage.unwrap_or(self.usage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::sse::Parser;

    /// What an answer is after `stream`, each event of which comes a second after the one before.
    fn after(stream: &str) -> Answer {
        let mut answer = Answer::default();
        let mut second = 0.0;
        let mut parser = Parser::new(1 << 20);
        let read = parser.read(stream.as_bytes(), &mut |item| {
            second += 1.0;
            answer.take(item, Time::from_secs(second));
        });
        read.expect("short events");
        answer
    }

    fn content(text: &str) -> String {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{text:?}}}}}]}}\n\n")
    }

    const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    const DONE: &str = "data: [DONE]\n\n";
    const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"completion_tokens\":100}}\n\n";

    #[test]
    fn an_answer_is_complete_when_it_says_so() {
        let two = content("a") + &content("b");
        let truncated = |tokens| Some(Reason::Truncated { tokens });
        let cases = [
            (two.clone(), truncated(2)),
            (String::new(), truncated(0)),
            (two.clone() + FINISH, None),
            (two.clone() + DONE, None),
            (two + FINISH + USAGE + DONE, None),
            (FINISH.to_owned() + DONE, Some(Reason::Empty)),
            (USAGE.to_owned() + DONE, Some(Reason::Empty)),
        ];
        for (stream, verdict) in cases {
            assert_eq!(after(&stream).verdict(), verdict, "{stream}");
        }
    }

    #[test]
    fn tokens_are_the_servers_count_or_else_chunks() {
        let (two, error) = (
            content("a") + &content("b"),
            "data: {\"error\":\"gone\"}\n\n",
        );
        assert_eq!(after(&two).tokens(), 2);
        assert_eq!(after(&(two.clone() + FINISH + USAGE)).tokens(), 100);
        let message = String::from("gone");
        let failed = Some(Reason::StreamError { tokens: 2, message });
        assert_eq!(after(&(two + error + DONE)).verdict(), failed);
    }

    #[test]
    fn chunks_tell_of_bundles_and_gaps() {
        let bundled = content("aaaaaaaa") + &content("b") + &content("c") + USAGE;
        let chunks = after(&bundled).chunks();
        // Eight of ten bytes, of a hundred tokens.
        assert_eq!((chunks.count, chunks.first_tokens), (3, Some(80)));
        assert_eq!(chunks.gap_median, Some(Duration::from_secs(1.0)));
        let counted =
            "data: {\"choices\":[{\"text\":\"a\"}],\"usage\":{\"completion_tokens\":4}}\n\n";
        assert_eq!(
            after(&(counted.to_owned() + USAGE)).chunks().first_tokens,
            Some(4)
        );
        assert_eq!(after(&content("a")).chunks().first_tokens, None);
    }

    #[test]
    fn a_whole_answer_is_one_chunk() {
        let whole = |body: &str| {
            let mut answer = Answer::default();
            answer.take_whole(body.as_bytes(), Time::from_secs(1.0));
            answer
        };
        let answer =
            whole(r#"{"choices":[{"message":{"content":"hi"}}],"usage":{"completion_tokens":3}}"#);
        assert_eq!((answer.verdict(), answer.tokens()), (None, 3));
        assert!(!answer.chunks().is_streamed);
        let error = whole(r#"{"error":{"message":"loading"}}"#).verdict();
        let message = String::from("loading");
        assert_eq!(error, Some(Reason::StreamError { tokens: 0, message }));
        assert!(matches!(
            whole("{}").verdict(),
            Some(Reason::ParseError { .. })
        ));
        assert!(matches!(
            whole("<html>").verdict(),
            Some(Reason::ParseError { .. })
        ));
    }
}
