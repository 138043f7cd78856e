//! What a client asks for: the body of a request for a completion, read as leniently as real servers do. Parameters that change
//! nothing here are ignored.

use serde_json::{Map, Value};

use super::refusal::Refusal;
use super::tokenizer::Tokenizer;

/// Most tokens of an answer.
const MOST_TOKENS: u64 = 1_000_000;

/// Which of the two interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Text,
}

/// A model that may be asked for.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) name: String,
    pub(super) max_context_tokens: Option<u32>,
}

/// A request for a completion.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) kind: Kind,
    pub(super) model: String,
    pub(super) deployment: u32,
    pub(super) max_context_tokens: Option<u32>,
    pub(super) prompt_tokens: u32,
    pub(super) output_tokens: u32,
    pub(super) streams: bool,
    /// Whether the stream ends with the token counts, and whether every chunk has them.
    pub(super) usage: bool,
    pub(super) usage_everywhere: bool,
}

/// What a request is read against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Menu<'a> {
    pub(super) models: &'a [Model],
    pub(super) tokenizer: &'a Tokenizer,
    /// Length of an answer where none is asked for \[tokens\].
    pub(super) output_tokens: u32,
}

impl Asked {
    /// Reads a request's body.
    pub(super) fn read(kind: Kind, body: &[u8], menu: Menu<'_>) -> Result<Self, Refusal> {
        let fields = object(body)?;
        let (deployment, model) = model(&fields, menu.models)?;
        let prompt_tokens = match kind {
            Kind::Chat => menu.tokenizer.count(&chat(&fields)?),
            Kind::Text => prompt(&fields, menu.tokenizer)?,
        };
        let limits: &[&str] = match kind {
            Kind::Chat => &["max_completion_tokens", "max_tokens"],
            Kind::Text => &["max_tokens"],
        };
        let mut output_tokens = None;
        for name in limits {
            output_tokens = output_tokens.or(whole(&fields, name, 1..=MOST_TOKENS)?);
        }
        whole(&fields, "n", 1..=1)?;
        let options = match fields.get("stream_options") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(options)) => options.clone(),
            Some(_) => return Err(wrong("stream_options", "an object")),
        };
        let usage_everywhere = flag(&options, "continuous_usage_stats")?;
        Ok(Self {
            kind,
            model: model.name.clone(),
            deployment,
            max_context_tokens: model.max_context_tokens,
            // An empty prompt still has its beginning.
            prompt_tokens: prompt_tokens.max(1),
            output_tokens: output_tokens.map_or(menu.output_tokens, |tokens| tokens as u32),
            streams: flag(&fields, "stream")?,
            usage: flag(&options, "include_usage")?,
            usage_everywhere,
        })
    }
}

/// A body as a JSON object.
pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Refusal::bad("the body must be a JSON object")),
        Err(error) => Err(Refusal::bad(format!("the body is not JSON: {error}"))),
    }
}

/// The model that a request names, and its number.
pub(super) fn model<'a>(
    fields: &Map<String, Value>,
    models: &'a [Model],
) -> Result<(u32, &'a Model), Refusal> {
    let wanted = match fields.get("model") {
        Some(Value::String(wanted)) => wanted,
        None | Some(Value::Null) => return Err(missing("model")),
        Some(_) => return Err(wrong("model", "a string")),
    };
    let found = models
        .iter()
        .enumerate()
        .find(|(_, one)| one.name == *wanted);
    let (number, model) = found.ok_or_else(|| {
        let names = || models.iter().map(|one| one.name.as_str());
        let help = crate::scenario::did_you_mean(wanted, names()).map_or_else(
            || {
                format!(
                    "this provider has: {}",
                    names().collect::<Vec<_>>().join(", ")
                )
            },
            |near| format!("did you mean `{near}`?"),
        );
        Refusal::unknown_model(format!("there is no model `{wanted}`; {help}"))
    })?;
    Ok((number as u32, model))
}

/// The text of a chat: its messages' texts, each on a line of its own.
pub(super) fn chat(fields: &Map<String, Value>) -> Result<String, Refusal> {
    let messages = match fields.get("messages") {
        Some(Value::Array(messages)) if !messages.is_empty() => messages,
        Some(Value::Array(_)) => {
            return Err(Refusal::field("messages", "`messages` must not be empty"));
        }
        None | Some(Value::Null) => return Err(missing("messages")),
        Some(_) => return Err(wrong("messages", "an array")),
    };
    let mut texts = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let Value::Object(message) = message else {
            return Err(wrong(&format!("messages[{index}]"), "an object"));
        };
        if !message.get("role").is_some_and(Value::is_string) {
            return Err(wrong(&format!("messages[{index}].role"), "a string"));
        }
        texts.push(content(message.get("content"), index)?);
    }
    Ok(texts.join("\n"))
}

/// A message's text: a string, nothing, or parts of which those with text count.
fn content(content: Option<&Value>, index: usize) -> Result<String, Refusal> {
    let name = format!("messages[{index}].content");
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().map(|part| match part {
                Value::String(text) => Ok(text.as_str()),
                Value::Object(part) => Ok(part.get("text").and_then(Value::as_str).unwrap_or("")),
                _ => Err(wrong(&name, "a string or an array of parts")),
            });
            texts.collect()
        }
        Some(_) => Err(wrong(&name, "a string or an array of parts")),
    }
}

/// The length of a text completion's prompt: one text, or one list of tokens.
fn prompt(fields: &Map<String, Value>, tokenizer: &Tokenizer) -> Result<u32, Refusal> {
    let prompt = match fields.get("prompt") {
        Some(Value::Array(prompts)) if !prompts.iter().all(Value::is_number) => {
            let [prompt] = prompts.as_slice() else {
                let message = "one prompt a request is answered here";
                return Err(Refusal::field("prompt", message));
            };
            prompt
        }
        Some(prompt) => prompt,
        None => return Err(missing("prompt")),
    };
    match prompt {
        Value::String(text) => Ok(tokenizer.count(text)),
        Value::Array(tokens) if tokens.iter().all(Value::is_u64) => Ok(tokens.len() as u32),
        Value::Null => Err(missing("prompt")),
        _ => Err(wrong("prompt", "a string or an array of tokens")),
    }
}

/// A whole number within a range, if it is given.
fn whole(
    fields: &Map<String, Value>,
    name: &str,
    range: std::ops::RangeInclusive<u64>,
) -> Result<Option<u64>, Refusal> {
    let Some(value) = fields.get(name).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    if let Some(number) = value.as_u64().filter(|number| range.contains(number)) {
        return Ok(Some(number));
    }
    let (least, most) = (range.start(), range.end());
    let allowed = if least == most {
        least.to_string()
    } else {
        format!("a whole number from {least} to {most}")
    };
    let message = format!("`{name}` is {value}; it must be {allowed}");
    Err(Refusal::field(name, message))
}

/// A switch, off unless it is given.
fn flag(fields: &Map<String, Value>, name: &str) -> Result<bool, Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(is_on)) => Ok(*is_on),
        Some(_) => Err(wrong(name, "true or false")),
    }
}

fn missing(name: &str) -> Refusal {
    Refusal::field(name, format!("`{name}` is missing"))
}

pub(super) fn wrong(name: &str, expected: &str) -> Refusal {
    Refusal::field(name, format!("`{name}` must be {expected}"))
}
