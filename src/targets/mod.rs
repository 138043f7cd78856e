//! What `measure` measures, and how: the targets file, with the command line's options put in.
//!
//! A targets file is TOML and is read like a scenario: units, every problem at once with its place, every default known. A
//! `[protocol]` says what is sent and when, in the words of a scenario's `[benchmark]`; each `[targets.NAME]` is one model
//! behind one address. An option of the command line is one more way to write a key, so both have the same checks.
//!
//! Keys stay out: a file names the environment variable that holds one. [`Target::unlock`] reads it.

mod protocol;

use serde_json::{Map, Value};

use crate::http::{ApiKind, Endpoint, OutputLimit, Secret, SecretError};
use crate::measure::protocol::Protocol;
use crate::scenario::{Document, Kind, Reader, Reading, ScenarioError};
use crate::time::Duration;
use protocol::Asked;

/// Most targets of one run.
const MOST: usize = 100;

/// What is measured, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What is sent to each target in each session, and when.
    pub protocol: Protocol,
    /// The root of all randomness, where it is stated.
    pub seed: Option<u64>,
    /// When sessions start, by local time since midnight; none starts one at once.
    pub at: Vec<Duration>,
    /// On how many days each of them is held.
    pub days: u32,
    /// Whom to ask.
    pub targets: Vec<Target>,
}

/// One model behind one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// How it is asked, still without its key.
    pub endpoint: Endpoint,
    /// The environment variable that holds its key.
    pub key_env: Option<String>,
    /// Headers whose values environment variables hold.
    pub header_env: Vec<(String, String)>,
}

impl Target {
    /// The endpoint with its key and all headers, from the environment.
    pub fn unlock(&self) -> Result<Endpoint, SecretError> {
        let mut endpoint = self.endpoint.clone();
        endpoint.key = self.key_env.as_deref().map(Secret::from_env).transpose()?;
        for (header, variable) in &self.header_env {
            let secret = Secret::from_env(variable)?;
            endpoint.headers.push((header.clone(), secret));
        }
        Ok(endpoint)
    }
}

/// Reads a targets file, or says everything that is wrong with it.
pub fn load(document: Document) -> Result<Plan, ScenarioError> {
    let reading = Reading::new(document);
    let plan = plan(reading.root());
    let (plan, _) = reading.into_result(plan)?;
    Ok(plan)
}

fn plan(mut root: Reader<'_>) -> Plan {
    let asked = Asked::read(root.table("protocol"));
    let mut targets: Vec<Target> = Vec::new();
    let entries = root.entries("targets");
    if entries.is_empty() && root.is_sound("targets") {
        root.missing(
            "targets",
            "{ acme = { base_url = \"https://api.example.com/v1\", model = \"my-model\" } }",
        );
    }
    if entries.len() > MOST {
        let found = format!("there are {}", entries.len());
        root.problem_at(
            "targets",
            format!("at most {MOST} targets are measured at once"),
            found,
            "make several runs",
        );
    }
    for (name, entry) in entries {
        targets.push(target(&name, entry, &asked));
    }
    root.finish();
    Plan {
        protocol: asked.protocol,
        seed: asked.seed,
        at: asked.at,
        days: asked.days,
        targets,
    }
}

/// One target.
fn target(name: &str, mut reader: Reader<'_>, asked: &Asked) -> Target {
    let url = Kind::text()
        .example("https://api.example.com/v1")
        .must("begin with http:// or https://", |url| {
            url.starts_with("http://") || url.starts_with("https://")
        })
        .must("have no `?` or `#`", |url| !url.contains(['?', '#']))
        // A password there would end up in the file.
        .must("hold no user name or password", |url| !url.contains('@'));
    let base_url = reader.required("base_url", &url);
    let model = filled().example("my-model");
    let model = reader.required("model", &model);
    let mut endpoint = Endpoint {
        api: reader.or_default("api", &api(), "chat"),
        output_limit: reader.or_default("output_limit", &output_limit(), "max_tokens"),
        ..Endpoint::new(name, base_url, model, asked.prompt.as_str())
    };
    asked.apply(&mut endpoint);
    let key_env = reader.optional("key_env", &variable());
    let headers = names(reader.table("headers"), &Kind::text());
    endpoint.headers = headers
        .into_iter()
        .map(|(header, value)| (header, Secret::new(value)))
        .collect();
    let header_env = names(reader.table("header_env"), &variable());
    endpoint.body = body(reader.table("body"));
    reader.finish();
    Target {
        endpoint,
        key_env,
        header_env,
    }
}

/// Which interface is asked.
fn api() -> Kind<ApiKind> {
    let kinds = [ApiKind::Chat, ApiKind::Completions];
    Kind::one_of(&kinds.map(|kind| (kind.name(), kind)))
}

/// How the answer's length is limited.
fn output_limit() -> Kind<OutputLimit> {
    Kind::one_of(&[
        ("max_tokens", OutputLimit::MaxTokens),
        ("max_completion_tokens", OutputLimit::MaxCompletionTokens),
        ("none", OutputLimit::Unlimited),
    ])
}

/// A text that says something.
fn filled() -> Kind<String> {
    Kind::text().must("not be empty", |text| !text.trim().is_empty())
}

/// The name of an environment variable; a key itself, given in its place, is refused without being shown.
fn variable() -> Kind<String> {
    let is_name = |text: &String| {
        let mut bytes = text.bytes();
        bytes
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    Kind::text()
        .example("ACME_API_KEY")
        .must("be the name of an environment variable", is_name)
}

/// A table whose keys the user chooses.
fn names<T: 'static>(mut reader: Reader<'_>, kind: &Kind<T>) -> Vec<(String, T)> {
    let entries = reader.names().into_iter().map(|name| {
        let value = reader.required(&name, kind);
        (name, value)
    });
    let entries = entries.collect();
    reader.finish();
    entries
}

/// Fields of the body, whatever they are.
fn body(mut reader: Reader<'_>) -> Map<String, Value> {
    let table = reader.take_toml();
    reader.finish();
    match serde_json::to_value(table) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::ConnectionPolicy;
    use crate::measure::protocol::GapPlan;
    use crate::scenario::Notation;

    fn read(text: &str) -> Result<Plan, ScenarioError> {
        load(Document::parse("targets.toml", text)?)
    }

    const ONE: &str = "[targets.acme]\nbase_url = \"https://a.example/v1\"\nmodel = \"m\"\n";

    #[test]
    fn the_defaults_are_the_protocol() {
        let plan = read(ONE).expect("it is sound");
        let protocol = &plan.protocol;
        assert_eq!((protocol.requests, protocol.discard), (75, 1));
        assert_eq!((protocol.concurrency, plan.days), (1, 1));
        assert_eq!(protocol.gaps, GapPlan::Fixed(Duration::from_secs(5.0)));
        let endpoint = &plan.targets[0].endpoint;
        assert_eq!(endpoint.temperature, Some(0.0));
        assert_eq!(endpoint.connection, ConnectionPolicy::Fresh);
        assert!(!endpoint.nonce && !endpoint.http2 && !endpoint.prompt.is_empty());
    }

    #[test]
    fn everything_can_be_said() {
        let plan = read(
            "[protocol]\nrequests = 9\ndiscard = 2\ngaps.ladder = {}\njitter = \"1s\"\nconcurrency = 3\n\
             prompt = \"hi\"\nmax_tokens = 5\ntemperature = \"none\"\nnonce = true\nat = [\"14:00\", \"04:00\"]\n\
             days = 2\nseed = 7\nconnection = \"reuse\"\nidle_limit = \"3s\"\nhttp2 = true\nca_file = \"ca.pem\"\ntimeout = \"2m\"\n\
             connect_timeout = \"1s\"\nstall_timeout = \"2s\"\nanswer_timeout = \"3s\"\nproxy = \"http://p:1\"\n\
             [targets.acme]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\nkey_env = \"K\"\napi = \"completions\"\n\
             output_limit = \"none\"\nheaders = { X-Title = \"t\" }\nheader_env = { api-key = \"K2\" }\n\
             body = { top_p = 0.5, provider = { order = [\"x\"] } }\n",
        )
        .expect("it is sound");
        assert_eq!((plan.seed, plan.days, plan.at.len()), (Some(7), 2, 2));
        let GapPlan::Ladder(gaps) = &plan.protocol.gaps else {
            panic!("{:?}", plan.protocol.gaps)
        };
        assert_eq!(
            (gaps[0].as_secs(), gaps[gaps.len() - 1].as_secs()),
            (20.0, 900.0)
        );
        let target = &plan.targets[0];
        assert_eq!(target.header_env, [("api-key".to_owned(), "K2".to_owned())]);
        assert_eq!(target.endpoint.temperature, None);
        assert_eq!(target.endpoint.body["provider"]["order"][0], "x");
        let idle = Duration::from_secs(3.0);
        assert_eq!(target.endpoint.connection, ConnectionPolicy::Reuse { idle });
    }

    #[test]
    fn an_option_wins_over_the_file() {
        let text = format!("[protocol]\ngaps = \"7s\"\nrequests = 3\n{ONE}");
        let mut document = Document::parse("targets.toml", &text).expect("it is TOML");
        document.give(
            "--over",
            &["protocol", "gaps", "even", "over"],
            "3h",
            Notation::Toml,
        );
        document.give(
            "--model",
            &["targets", "acme", "model"],
            "4.5",
            Notation::Text,
        );
        let plan = load(document).expect("it is sound");
        let over = Duration::from_secs(10_800.0);
        assert_eq!(plan.protocol.gaps, GapPlan::Even { over });
        assert_eq!(plan.targets[0].endpoint.model, "4.5");
    }

    #[test]
    fn all_problems_come_at_once_with_their_places() {
        let mut document = Document::parse(
            "targets.toml",
            "[protocol]\nrequest = 3\ngaps = \"soon\"\n[targets.acme]\nbase_url = \"ftp://x\"\nkey_env = \"sk-not-a-name\"\n",
        )
        .expect("it is TOML");
        document.give("--discard", &["protocol", "discard"], "-1", Notation::Toml);
        let shown = load(document).expect_err("it is not sound").to_string();
        for part in [
            "targets.toml:2:1",
            "did you mean `requests`?",
            "targets.toml:3:8",
            "begin with http:// or https://",
            "`targets.acme.model` is missing",
            "environment variable",
            "--discard:1:1",
        ] {
            assert!(shown.contains(part), "{part} is missing in:\n{shown}");
        }
    }
}
