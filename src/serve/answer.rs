//! Answers as `OpenAI`'s API shapes them: chunks of a stream, and whole ones.

use serde_json::{Value, json};

use super::asked::{Asked, Kind};
use super::tokenizer::Tokenizer;
use super::{Quirks, Reasoning};

/// What stays the same over an answer.
#[derive(Clone, Debug)]
pub(super) struct Shape<'a> {
    pub(super) asked: &'a Asked,
    pub(super) tokenizer: &'a Tokenizer,
    pub(super) quirks: Quirks,
    pub(super) id: String,
    /// Unix time \[s\].
    pub(super) created: u64,
    pub(super) cached_tokens: u32,
}

impl Shape<'_> {
    /// The chunk that opens a chat.
    pub(super) fn role(&self) -> Value {
        let delta = json!({"role": "assistant", "content": ""});
        self.chunk(
            0,
            &json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}),
        )
    }

    /// The chunks with tokens number `from` to `to`; two where thinking ends in between.
    pub(super) fn tokens(&self, from: u32, to: u32) -> Vec<Value> {
        let turn = self.thinking().clamp(from, to);
        let parts = [(from, turn, true), (turn, to, false)];
        let parts = parts.into_iter().filter(|(from, to, _)| from < to);
        parts
            .map(|(from, to, thinks)| {
                let text = self.tokenizer.answer(from, to);
                let choice = match (self.asked.kind, self.field(thinks)) {
                    (Kind::Chat, field) => {
                        json!({"index": 0, "delta": {field: text}, "logprobs": null, "finish_reason": null})
                    }
                    (Kind::Text, _) => {
                        json!({"index": 0, "text": text, "logprobs": null, "finish_reason": null})
                    }
                };
                self.chunk(to, &choice)
            })
            .collect()
    }

    /// The chunk that says why the answer ends.
    pub(super) fn finish(&self) -> Value {
        let choice = match self.asked.kind {
            Kind::Chat => {
                json!({"index": 0, "delta": {}, "logprobs": null, "finish_reason": "length"})
            }
            Kind::Text => {
                json!({"index": 0, "text": "", "logprobs": null, "finish_reason": "length"})
            }
        };
        self.chunk(self.asked.output_tokens, &choice)
    }

    /// The chunk of the token counts.
    pub(super) fn usage_chunk(&self) -> Value {
        let mut chunk = self.head(self.chunk_object());
        chunk["choices"] = json!([]);
        chunk["usage"] = self.usage(self.asked.output_tokens);
        chunk
    }

    /// The answer as a whole.
    pub(super) fn whole(&self) -> Value {
        let total = self.asked.output_tokens;
        let turn = self.thinking().min(total);
        let (thought, text) = (
            self.tokenizer.answer(0, turn),
            self.tokenizer.answer(turn, total),
        );
        let (object, choice) = match self.asked.kind {
            Kind::Chat => {
                let mut message = json!({"role": "assistant", "content": text, "refusal": null});
                if turn > 0 {
                    message[self.field(true)] = json!(thought);
                }
                let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": "length"});
                ("chat.completion", choice)
            }
            Kind::Text => {
                let choice =
                    json!({"index": 0, "text": text, "logprobs": null, "finish_reason": "length"});
                ("text_completion", choice)
            }
        };
        let mut answer = self.head(object);
        answer["choices"] = json!([choice]);
        answer["usage"] = self.usage(total);
        answer
    }

    /// How many tokens are thought before the answer begins.
    fn thinking(&self) -> u32 {
        let thinks = self.quirks.reasoning.is_some() && self.asked.kind == Kind::Chat;
        u32::from(thinks) * self.asked.output_tokens.div_ceil(2)
    }

    fn field(&self, thinks: bool) -> &'static str {
        match self.quirks.reasoning.filter(|_| thinks) {
            None => "content",
            Some(Reasoning::Reasoning) => "reasoning",
            Some(Reasoning::ReasoningContent) => "reasoning_content",
        }
    }

    fn chunk_object(&self) -> &'static str {
        match self.asked.kind {
            Kind::Chat => "chat.completion.chunk",
            Kind::Text => "text_completion",
        }
    }

    fn chunk(&self, tokens: u32, choice: &Value) -> Value {
        let mut chunk = self.head(self.chunk_object());
        chunk["choices"] = json!([choice]);
        if self.asked.usage_everywhere {
            chunk["usage"] = self.usage(tokens);
        }
        chunk
    }

    fn head(&self, object: &str) -> Value {
        json!({"id": self.id, "object": object, "created": self.created, "model": self.asked.model})
    }

    fn usage(&self, tokens: u32) -> Value {
        let prompt = self.asked.prompt_tokens;
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": tokens,
            "total_tokens": u64::from(prompt) + u64::from(tokens),
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        })
    }
}
