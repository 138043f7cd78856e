//! What servers send, and what a client must make of it: forty-odd answers with the outcome and the instants that are right.
//!
//! The role comes after 50 ms and content after 200 ms; where a model reasons, reasoning after 100 ms and content after 300 ms.
//! No published client gets every row right: among nine, some time the role, lose tokens behind CRLF or a comment, call an error
//! in the stream a success, or report a TTFT of zero.

mod answers;
mod pieces;

use super::endpoint::ApiKind;
use super::scripted::Script;
use crate::time::Time;
use crate::timeline::Exchange;

/// One answer and what is right.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What the server does.
    pub script: Script,
    /// Which interface is asked.
    pub api: ApiKind,
    /// What a client must see.
    pub expected: Expected,
}

/// What a client must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The outcome's name, see [`Exchange::outcome_name`](crate::timeline::Exchange::outcome_name).
    pub outcome: &'static str,
    /// First token on any channel \[ms\].
    pub first_token: Option<u64>,
    /// First content \[ms\].
    pub first_content: Option<u64>,
    /// First content that is not white space \[ms\].
    pub first_visible: Option<u64>,
    /// The visible answer.
    pub content: &'static str,
    /// Tokens.
    pub tokens: u32,
}

/// How much later than right an instant may be on a machine that is busy with other things \[ms\]. That none is earlier, and
/// that they differ where they should, needs no such allowance.
const LATENESS: u64 = 2000;

impl Row {
    /// Everything in which `seen` is wrong; `read` is when the server had read the request.
    pub fn wrong(&self, seen: &Exchange, read: Time) -> Vec<String> {
        let expected = &self.expected;
        let timeline = &seen.timeline;
        let mut wrong = Vec::new();
        let mut check = |what: &str, is: String, should: String| {
            if is != should {
                wrong.push(format!("{what} is {is}, not {should}"));
            }
        };
        check(
            "the outcome",
            seen.outcome_name().to_owned(),
            expected.outcome.to_owned(),
        );
        check(
            "the answer",
            format!("{:?}", seen.content),
            format!("{:?}", expected.content),
        );
        let tokens = seen.observation.output_tokens();
        check(
            "the number of tokens",
            tokens.to_string(),
            expected.tokens.to_string(),
        );
        let distinct = [
            (
                expected.first_token < expected.first_content,
                timeline.first_token < timeline.first_content,
            ),
            (
                expected.first_content < expected.first_visible,
                timeline.first_content < timeline.first_visible,
            ),
        ];
        let [tokens, contents] = distinct.map(|(should, is)| (is.to_string(), should.to_string()));
        check("`a token before content`", tokens.0, tokens.1);
        check("`content before what is visible`", contents.0, contents.1);
        let instants = [
            (
                "the first token",
                timeline.first_token,
                expected.first_token,
            ),
            (
                "the first content",
                timeline.first_content,
                expected.first_content,
            ),
            (
                "what is visible first",
                timeline.first_visible,
                expected.first_visible,
            ),
        ];
        for (what, is, should) in instants {
            let millis = is.map(|at| at.saturating_since(read).as_nanos() / 1_000_000);
            let is_right = match (millis, should) {
                (Some(is), Some(should)) => (should..=should + LATENESS).contains(&is),
                (is, should) => is.is_none() && should.is_none(),
            };
            if !is_right {
                wrong.push(format!("{what} is at {millis:?} ms, not at {should:?} ms"));
            }
        }
        wrong
    }
}

/// All rows.
pub fn rows() -> Vec<Row> {
    answers::groups().into_iter().flatten().collect()
}
