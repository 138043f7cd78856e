//! Errors as `OpenAI`'s API words them: a status and `{"error": {"message", "type", "param", "code"}}`.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::engine::End;

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    status: StatusCode,
    kind: &'static str,
    code: Option<&'static str>,
    param: Option<String>,
    message: String,
    retry_after: Option<Duration>,
}

impl Refusal {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            code: None,
            param: None,
            message: message.into(),
            retry_after: None,
        }
    }

    /// A field that is missing or wrong.
    pub(super) fn field(param: &str, message: impl Into<String>) -> Self {
        Self {
            param: Some(param.to_owned()),
            ..Self::bad(message)
        }
    }

    /// A request that is wrong as a whole.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// A model that this provider does not have.
    pub(super) fn unknown_model(message: impl Into<String>) -> Self {
        Self {
            code: Some("model_not_found"),
            param: Some("model".to_owned()),
            ..Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message)
        }
    }

    /// A path that leads nowhere.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message)
    }

    /// A path that does not take this method.
    pub(super) fn method(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "invalid_request_error",
            message,
        )
    }

    /// A body that is too large.
    pub(super) fn too_large(limit: u64) -> Self {
        let message = format!("the request body is larger than {limit} bytes");
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "invalid_request_error",
            message,
        )
    }

    /// A body that does not come.
    pub(super) fn slow_body(limit: Duration) -> Self {
        let message = format!("the request body did not come within {limit:?}");
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "invalid_request_error",
            message,
        )
    }

    /// A request that takes longer than the server bears.
    pub(super) fn took_too_long(limit: Duration) -> Self {
        let message = format!("no end of the answer within {limit:?}");
        Self::new(StatusCode::GATEWAY_TIMEOUT, "timeout", message)
    }

    /// A prompt and an answer that no replica can hold together.
    fn too_long(context: Option<u32>, prompt_tokens: u32, output_tokens: u32) -> Self {
        let asked = u64::from(prompt_tokens) + u64::from(output_tokens);
        let limit = context.map_or_else(
            || "no replica of this model can hold the request".to_owned(),
            |context| format!("this model's maximum context length is {context} tokens"),
        );
        let message = format!(
            "{limit}; {asked} were asked for ({prompt_tokens} in the prompt, {output_tokens} in the answer)"
        );
        Self {
            code: Some("context_length_exceeded"),
            param: Some("messages".to_owned()),
            ..Self::bad(message)
        }
    }

    /// What the fleet's refusal, or the loss of a request, says to a client. `None` if the request was answered.
    pub(super) fn of(end: End, asked: &super::asked::Asked) -> Option<Self> {
        let model = &asked.model;
        match end {
            End::Done => None,
            End::Failed => Some(Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "server_error",
                format!("the replica of `{model}` that held the request is gone"),
            )),
            End::Refused { status: 413, .. } => Some(Self::too_long(
                asked.max_context_tokens,
                asked.prompt_tokens,
                asked.output_tokens,
            )),
            End::Refused {
                status,
                retry_after,
            } => {
                let (kind, code, message) = match status {
                    429 => (
                        "rate_limit_error",
                        "queue_full",
                        format!("too many requests wait for `{model}`"),
                    ),
                    503 => (
                        "service_unavailable",
                        "model_loading",
                        format!("model `{model}` is currently loading"),
                    ),
                    _ => (
                        "server_error",
                        "queue_timeout",
                        format!("no replica of `{model}` was free in time"),
                    ),
                };
                let status = StatusCode::from_u16(status);
                let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                Some(Self {
                    code: Some(code),
                    retry_after: Some(retry_after),
                    ..Self::new(status, kind, message)
                })
            }
        }
    }

    /// The body.
    pub(super) fn json(&self) -> Value {
        let mut body = json!({"error": {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.code,
        }});
        if let (Some(span), Some("model_loading")) = (self.retry_after, self.code) {
            body["estimated_time"] = json!(span.as_secs_f64());
        }
        body
    }

    /// The whole response.
    pub(super) fn response(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.json().to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        if let Some(span) = self.retry_after {
            let seconds = (span.as_secs_f64().ceil() as u64).max(1);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
