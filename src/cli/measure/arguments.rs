//! The options of `measure` as keys of a targets file.
//!
//! Whatever an option says goes into the same document as the file, so that both are read, checked and explained alike. Only the
//! values of headers and of a JSON body are put in after reading: a document's problems show what is written in it.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow, bail};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Map, Value};

use crate::http::Secret;
use crate::scenario::{Document, Notation};
use crate::targets::Target;

const HEADING: &str = "Targets";

/// An option that says something of one target.
struct Flag {
    name: &'static str,
    value: &'static str,
    help: &'static str,
    /// The key in the target's table, where there is one.
    key: Option<&'static str>,
}

/// Options of a target. Each `--url` begins one, and what follows it belongs to it.
const FLAGS: [Flag; 9] = [
    Flag {
        name: "url",
        value: "URL",
        help: "Where its interface begins; each --url begins a target, options before the first are for all",
        key: Some("base_url"),
    },
    Flag {
        name: "model",
        value: "NAME",
        help: "The model's name there",
        key: Some("model"),
    },
    Flag {
        name: "name",
        value: "NAME",
        help: "What to call it [default: its host]",
        key: None,
    },
    Flag {
        name: "key-env",
        value: "VARIABLE",
        help: "The environment variable that holds its key",
        key: Some("key_env"),
    },
    Flag {
        name: "api",
        value: "API",
        help: "chat or completions [default: chat]",
        key: Some("api"),
    },
    Flag {
        name: "header",
        value: "NAME=VALUE",
        help: "A further header; may be given again",
        key: None,
    },
    Flag {
        name: "header-env",
        value: "NAME=VARIABLE",
        help: "A further header whose value an environment variable holds",
        key: None,
    },
    Flag {
        name: "body",
        value: "JSON",
        help: "Further fields of the request's body; null leaves one out",
        key: None,
    },
    Flag {
        name: "output-limit",
        value: "FIELD",
        help: "max_tokens, max_completion_tokens or none [default: max_tokens]",
        key: Some("output_limit"),
    },
];

/// The targets of a command line, in the order in which it gives them.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetOptions {
    /// Index in [`FLAGS`] and value.
    given: Vec<(usize, String)>,
}

impl Args for TargetOptions {
    fn augment_args(command: Command) -> Command {
        command.args(FLAGS.iter().map(|flag| {
            Arg::new(flag.name)
                .long(flag.name)
                .value_name(flag.value)
                .help(flag.help)
                .help_heading(HEADING)
                .action(ArgAction::Append)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TargetOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let of_flag = |(flag, name): (usize, &'static str)| {
            let places = matches.indices_of(name).into_iter().flatten();
            let values = matches.get_many::<String>(name).into_iter().flatten();
            places
                .zip(values)
                .map(move |(place, value)| (place, (flag, value.clone())))
        };
        let flags = FLAGS.iter().map(|flag| flag.name).enumerate();
        // By their places on the command line.
        let given: BTreeMap<usize, (usize, String)> = flags.flat_map(of_flag).collect();
        Ok(Self {
            given: given.into_values().collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What is put into a target after reading.
#[derive(Debug, Default)]
pub(super) struct Extras {
    name: String,
    headers: Vec<(String, Secret)>,
    body: Map<String, Value>,
}

impl TargetOptions {
    /// Whether nothing is given.
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Puts the targets into the document; what must not stand there is returned.
    pub(super) fn give(&self, document: &mut Document) -> anyhow::Result<Vec<Extras>> {
        let begins = |&(flag, _): &(usize, String)| FLAGS[flag].name == "url";
        let first = self.given.iter().position(begins);
        let Some(first) = first else {
            return match self.given.first() {
                Some(&(flag, _)) => {
                    let name = FLAGS[flag].name;
                    Err(anyhow!(
                        "--{name} says something of a target, but no --url names one"
                    ))
                }
                None => Ok(Vec::new()),
            };
        };
        let (common, rest) = self.given.split_at(first);
        let mut all: Vec<Extras> = Vec::new();
        for own in rest.chunk_by(|_, next| !begins(next)) {
            let options: Vec<&(usize, String)> = common.iter().chain(own).collect();
            let extras = give_target(document, &options, &all)?;
            all.push(extras);
        }
        Ok(all)
    }
}

/// Puts one target into the document.
fn give_target(
    document: &mut Document,
    options: &[&(usize, String)],
    before: &[Extras],
) -> anyhow::Result<Extras> {
    let last = |name: &str| {
        let found = options
            .iter()
            .rev()
            .find(|(flag, _)| FLAGS[*flag].name == name);
        found.map(|(_, value)| value.as_str())
    };
    let mut extras = Extras {
        name: match last("name") {
            Some(name) => name.to_owned(),
            None => named_after(last("url").unwrap_or_default(), before),
        },
        ..Extras::default()
    };
    if before.iter().any(|other| other.name == extras.name) {
        bail!("two targets are called `{}`", extras.name);
    }
    for &&(flag, ref value) in options {
        let flag = &FLAGS[flag];
        let option = format!("--{}", flag.name);
        match flag.name {
            // Refused here, because a problem of the document shows the text.
            "url" if value.contains('@') => bail!("{option} must hold no user name or password"),
            "name" => {}
            "header" => {
                let (name, value) = pair(&option, value)?;
                extras.headers.push((name.to_owned(), Secret::new(value)));
            }
            "header-env" => {
                let (name, variable) = pair(&option, value)?;
                let path = ["targets", &extras.name, "header_env", name];
                document.give(&option, &path, variable, Notation::Text);
            }
            "body" => extras.body.extend(fields(value)?),
            _ => {
                let path = ["targets", &extras.name, flag.key.unwrap_or(flag.name)];
                document.give(&option, &path, value, Notation::Text);
            }
        }
    }
    Ok(extras)
}

/// A name for a target without one: its host, with a number where that is taken.
fn named_after(url: &str, before: &[Extras]) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // What comes before `@` would be a password; reading refuses it.
    let host = host.rsplit('@').next().unwrap_or_default();
    let clean = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let host: String = host.chars().map(clean).collect();
    let host = host.trim_matches('-');
    let host = if host.is_empty() { "target" } else { host };
    let numbered = (2..).map(|number| format!("{host}-{number}"));
    let mut names = std::iter::once(host.to_owned()).chain(numbered);
    let is_free = |name: &String| before.iter().all(|other| other.name != *name);
    names.find(is_free).unwrap_or_default()
}

/// `name=value`, or `name: value` as in HTTP.
fn pair<'a>(option: &str, text: &'a str) -> anyhow::Result<(&'a str, &'a str)> {
    let is_name = |name: &str| {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !name.is_empty() && name.chars().all(good)
    };
    let (name, value) = text
        .split_once(['=', ':'])
        .filter(|(name, _)| is_name(name.trim()))
        // Without the value, which may be a key.
        .with_context(|| {
            format!("{option} must be NAME=VALUE, with a name of letters, digits and -")
        })?;
    Ok((name.trim(), value.trim()))
}

fn fields(json: &str) -> anyhow::Result<Map<String, Value>> {
    match serde_json::from_str(json).context("--body is not JSON")? {
        Value::Object(fields) => Ok(fields),
        _ => bail!("--body must be a JSON object, for example {{\"top_p\": 0.9}}"),
    }
}

impl Extras {
    /// Puts what was held back into its target.
    pub(super) fn apply(self, targets: &mut [Target]) {
        let target = targets
            .iter_mut()
            .find(|target| target.endpoint.name == self.name);
        if let Some(target) = target {
            target.endpoint.headers.extend(self.headers);
            target.endpoint.body.extend(self.body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets;

    fn parsed(arguments: &[&str]) -> anyhow::Result<Vec<Target>> {
        let command = TargetOptions::augment_args(Command::new("test").no_binary_name(true));
        let matches = command.try_get_matches_from(arguments)?;
        let options = TargetOptions::from_arg_matches(&matches)?;
        let mut document = Document::parse("<options>", "")?;
        let extras = options.give(&mut document)?;
        let mut targets = targets::load(document)?.targets;
        for extras in extras {
            extras.apply(&mut targets);
        }
        Ok(targets)
    }

    #[test]
    fn each_url_begins_a_target() {
        let targets = parsed(&[
            "--key-env",
            "K",
            "--url",
            "http://127.0.0.1:8/v1",
            "--model",
            "a",
            "--header",
            "X-A=1",
            "--url",
            "http://127.0.0.1:8/v1",
            "--model",
            "b",
            "--body",
            "{\"top_p\": 0.5}",
            "--api",
            "completions",
        ])
        .expect("they are sound");
        let shown: Vec<(&str, &str, Option<&str>, usize, usize)> = targets
            .iter()
            .map(|one| {
                let endpoint = &one.endpoint;
                (
                    endpoint.name.as_str(),
                    endpoint.model.as_str(),
                    one.key_env.as_deref(),
                    endpoint.headers.len(),
                    endpoint.body.len(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("127.0.0.1-8", "a", Some("K"), 1, 0),
                ("127.0.0.1-8-2", "b", Some("K"), 0, 1)
            ]
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let url = ["--url", "http://h/v1", "--model", "m"];
        let cases: [(&[&str], &str); 6] = [
            (&["--model", "m"], "no --url names one"),
            (
                &[
                    "--name",
                    "a",
                    "--url",
                    "http://h/v1",
                    "--model",
                    "m",
                    "--url",
                    "http://i/v1",
                ],
                "called `a`",
            ),
            (&["--url", "http://h/v1"], "`targets.h.model` is missing"),
            (
                &["--url", "http://u:secret@h/v1", "--model", "m"],
                "no user name or password",
            ),
            (
                &[&url[..], &["--body", "[1]"]].concat(),
                "must be a JSON object",
            ),
            (
                &[&url[..], &["--header", "sk-1234"]].concat(),
                "must be NAME=VALUE",
            ),
        ];
        for (arguments, expected) in cases {
            let error = parsed(arguments).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("sk-1234"), "{error}");
        }
    }
}
