//! A text that is never shown: an API key, the value of a header.
//!
//! Invariant: neither `Debug` nor an error nor a message that went through [`Secret::redact`] holds it. It has no `Display` and
//! no serialised form, so a file cannot get it by accident.

use std::fmt;

use thiserror::Error;

/// What stands in place of a secret.
const REDACTED: &str = "[redacted]";

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why an environment variable gives no secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SecretError {
    /// There is no such variable.
    #[error("environment variable `{0}` is not set")]
    Unset(String),
    /// It is there and empty.
    #[error("environment variable `{0}` is empty")]
    Empty(String),
    /// It cannot be sent in a header.
    #[error(
        "environment variable `{0}` holds what a header cannot: only visible ASCII characters are allowed"
    )]
    NotVisible(String),
}

impl Secret {
    /// The secret `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret in the environment variable `name`.
    pub fn from_env(name: &str) -> Result<Self, SecretError> {
        let text = std::env::var_os(name).ok_or_else(|| SecretError::Unset(name.to_owned()))?;
        let text = text.to_string_lossy().trim().to_owned();
        if text.is_empty() {
            return Err(SecretError::Empty(name.to_owned()));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecretError::NotVisible(name.to_owned()));
        }
        Ok(Self(text))
    }

    /// The text itself, for where it is sent.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without the secret.
    pub fn redact(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.0, REDACTED)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_in_no_debug_and_leaves_every_message() {
        let secret = Secret::new("sk-12345");
        assert_eq!(
            format!("{secret:?} {:?}", Some(&secret)),
            "[redacted] Some([redacted])"
        );
        assert_eq!(
            secret.redact("bad key sk-12345, yes sk-12345"),
            "bad key [redacted], yes [redacted]"
        );
        assert_eq!(Secret::new("").redact("abc"), "abc");
    }

    #[test]
    fn a_missing_variable_is_named() {
        let error = Secret::from_env("THERMOCLINE_NO_SUCH_KEY").expect_err("it is not set");
        assert_eq!(
            error.to_string(),
            "environment variable `THERMOCLINE_NO_SUCH_KEY` is not set"
        );
    }
}
