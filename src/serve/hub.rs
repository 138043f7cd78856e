//! The tokenizer under the paths of a model hub, so that clients that insist on one run without a network:
//! `HF_ENDPOINT=http://127.0.0.1:PORT`.
//!
//! `/{repo}/resolve/{revision}/{file}` gives a file, whole or a range of it; `/api/models/{repo}` and
//! `/api/models/{repo}/tree/{revision}` list them. A repository is any model of the provider; there is one revision, under any name.

use std::hash::Hasher as _;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use fnv::FnvHasher;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::tokenizer::{END_OF_TEXT, Tokenizer};

/// A repository that is there whatever the models are called.
const OWN: &str = "thermocline/tiny";

/// The files and who has them.
#[derive(Debug)]
pub(super) struct Hub {
    repositories: Vec<String>,
    files: Vec<File>,
    /// The one revision's name: 40 hexadecimal digits.
    commit: String,
}

#[derive(Debug)]
struct File {
    name: &'static str,
    bytes: Bytes,
    /// Names its content: 40 hexadecimal digits.
    hash: String,
}

impl File {
    fn new(name: &'static str, content: &Value) -> Self {
        let bytes = Bytes::from(format!("{content:#}\n"));
        Self {
            name,
            hash: hash(&bytes),
            bytes,
        }
    }
}

impl Hub {
    pub(super) fn new(tokenizer: &Tokenizer, models: impl Iterator<Item = String>) -> Self {
        let template = "{% for message in messages %}{{ message['content'] }}\
                        {% if not loop.last %}{{ '\\n' }}{% endif %}{% endfor %}";
        let config = json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "add_bos_token": false,
            "add_eos_token": false,
            "clean_up_tokenization_spaces": false,
            "eos_token": END_OF_TEXT,
            "pad_token": END_OF_TEXT,
            "model_max_length": 10_000_000,
            "chat_template": template,
        });
        let special = json!({"eos_token": END_OF_TEXT, "pad_token": END_OF_TEXT});
        let files = vec![
            File::new("special_tokens_map.json", &special),
            File::new("tokenizer.json", &tokenizer.file()),
            File::new("tokenizer_config.json", &config),
        ];
        let all: Vec<u8> = files.iter().flat_map(|file| file.bytes.to_vec()).collect();
        Self {
            repositories: models.chain([OWN.to_owned()]).collect(),
            commit: hash(&all),
            files,
        }
    }

    /// The answer to a hub's path; `None` if it is none.
    pub(super) fn answer(&self, path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
        if let Some(path) = path.strip_prefix("/api/models/") {
            return Some(self.listing(path));
        }
        let (repository, rest) = path.strip_prefix('/')?.split_once("/resolve/")?;
        let (_, name) = rest.split_once('/')?;
        if !self.has(repository) {
            return Some(self.nothing("RepoNotFound", repository));
        }
        match self.files.iter().find(|file| file.name == name) {
            Some(file) => Some(self.content(file, headers)),
            None => Some(self.nothing("EntryNotFound", name)),
        }
    }

    fn has(&self, repository: &str) -> bool {
        self.repositories.iter().any(|one| one == repository)
    }

    fn listing(&self, path: &str) -> Response<Body> {
        let (repository, is_tree) = match (path.split_once("/tree/"), path.split_once("/revision/"))
        {
            (Some((repository, _)), _) => (repository, true),
            (None, Some((repository, _))) => (repository, false),
            (None, None) => (path, false),
        };
        if !self.has(repository) {
            return self.nothing("RepoNotFound", repository);
        }
        let files = self.files.iter();
        let listed: Vec<Value> = if is_tree {
            let entry = |file: &File| json!({"type": "file", "oid": file.hash, "size": file.bytes.len(), "path": file.name});
            files.map(entry).collect()
        } else {
            files.map(|file| json!({"rfilename": file.name})).collect()
        };
        if is_tree {
            return super::router::json(&Value::Array(listed));
        }
        super::router::json(&json!({
            "_id": self.commit,
            "id": repository,
            "modelId": repository,
            "sha": self.commit,
            "private": false,
            "gated": false,
            "disabled": false,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "siblings": listed,
        }))
    }

    fn content(&self, file: &File, headers: &HeaderMap) -> Response<Body> {
        let all = file.bytes.len();
        let range = headers.get(header::RANGE);
        let range = range.and_then(|range| range.to_str().ok()?.strip_prefix("bytes="));
        let mut response = match range.map(|range| part(range, all)) {
            None => Response::new(Body::from(file.bytes.clone())),
            Some(Some((from, to))) => {
                let mut response = Response::new(Body::from(file.bytes.slice(from..=to)));
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                set(
                    &mut response,
                    "content-range",
                    &format!("bytes {from}-{to}/{all}"),
                );
                response
            }
            Some(None) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
                set(&mut response, "content-range", &format!("bytes */{all}"));
                response
            }
        };
        set(&mut response, "content-type", "application/json");
        set(&mut response, "etag", &format!("\"{}\"", file.hash));
        set(&mut response, "accept-ranges", "bytes");
        set(&mut response, "x-repo-commit", &self.commit);
        response
    }

    /// What is not there, with the code by which the hub's clients tell what.
    fn nothing(&self, code: &str, what: &str) -> Response<Body> {
        let repositories = self.repositories.join(", ");
        let message = format!("{code}: there is no `{what}`; repositories here: {repositories}");
        let mut response = Refusal::not_found(message.as_str()).response();
        set(&mut response, "x-error-code", code);
        set(&mut response, "x-error-message", &message);
        response
    }
}

/// The first and last byte of a single range, if it lies in `all` bytes.
fn part(range: &str, all: usize) -> Option<(usize, usize)> {
    let (from, to) = range.split_once('-')?;
    let last = all.checked_sub(1)?;
    let (from, to) = match (from.parse::<usize>().ok(), to.parse::<usize>().ok()) {
        (Some(from), Some(to)) => (from, to.min(last)),
        (Some(from), None) if to.is_empty() => (from, last),
        (None, Some(count)) if from.is_empty() && count > 0 => (all.saturating_sub(count), last),
        _ => return None,
    };
    (from <= to).then_some((from, to))
}

fn set(response: &mut Response<Body>, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// A name for `bytes` of 40 hexadecimal digits, as a commit has.
fn hash(bytes: &[u8]) -> String {
    let digits = (0..3_u64).map(|round| {
        let mut hasher = FnvHasher::with_key(round);
        hasher.write(bytes);
        format!("{:016x}", hasher.finish())
    });
    digits.collect::<String>()[..40].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_to_what_there_is() {
        for (range, expected) in [
            ("0-", Some((0, 9))),
            ("0-3", Some((0, 3))),
            ("4-99", Some((4, 9))),
            ("-3", Some((7, 9))),
            ("-99", Some((0, 9))),
            ("10-", None),
            ("3-2", None),
            ("-0", None),
            ("a-b", None),
            ("", None),
        ] {
            assert_eq!(part(range, 10), expected, "{range}");
        }
        assert_eq!(part("0-0", 0), None);
    }
}
