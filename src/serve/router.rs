//! The paths of a provider, at the root of its host.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, Response, Uri, header};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::asked::{self, Asked, Kind, Menu, Model};
use super::engine::{Demand, Engine};
use super::hub::Hub;
use super::refusal::Refusal;
use super::stream;
use super::tokenizer::Tokenizer;
use super::{Limits, Quirks, Settings};
use crate::experiment::{Plan, Provider};
use crate::scenario::did_you_mean;

/// The paths that a client may mean.
const PATHS: &[&str] = &[
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/models",
    "/health",
    "/version",
    "/metrics",
    "/tokenize",
    "/detokenize",
];

/// What the answers of a provider are made from.
#[derive(Debug)]
pub(super) struct App {
    pub(super) engine: Arc<Engine>,
    pub(super) tokenizer: Tokenizer,
    pub(super) quirks: Quirks,
    pub(super) limits: Limits,
    pub(super) speed: f64,
    provider: String,
    models: Vec<Model>,
    /// Length of an answer where none is asked for \[tokens\].
    output_tokens: u32,
    hub: Hub,
    started: u64,
}

impl App {
    pub(super) fn new(
        plan: &Plan,
        provider: &Provider,
        settings: &Settings,
        engine: Arc<Engine>,
    ) -> Self {
        let tokenizer = Tokenizer::new();
        let deployments = provider.fleet.deployments.iter();
        let models: Vec<Model> = deployments
            .map(|deployment| Model {
                name: deployment.name.clone(),
                max_context_tokens: deployment.max_context_tokens(),
            })
            .collect();
        Self {
            hub: Hub::new(&tokenizer, models.iter().map(|model| model.name.clone())),
            engine,
            tokenizer,
            quirks: settings.quirks,
            limits: settings.limits,
            speed: settings.speed,
            provider: provider.name.clone(),
            models,
            output_tokens: plan.benchmark.output_tokens,
            started: unix_time(),
        }
    }

    fn menu(&self) -> Menu<'_> {
        Menu {
            models: &self.models,
            tokenizer: &self.tokenizer,
            output_tokens: self.output_tokens,
        }
    }

    /// Reads a request's body within its limits.
    async fn body(&self, request: Request) -> Result<Bytes, Refusal> {
        let limit = self.limits.body_bytes;
        let stated = request.headers().get(header::CONTENT_LENGTH);
        let stated = stated.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if stated.is_some_and(|length| length > limit) {
            return Err(Refusal::too_large(limit));
        }
        let reading = axum::body::to_bytes(request.into_body(), limit as usize);
        let read = tokio::time::timeout(self.limits.read, reading).await;
        let read = read.map_err(|_| Refusal::slow_body(self.limits.read))?;
        // A connection that broke has nobody to tell.
        read.map_err(|_| Refusal::too_large(limit))
    }

    fn describe(&self, model: &Model) -> Value {
        json!({
            "id": model.name,
            "object": "model",
            "created": self.started,
            "owned_by": self.provider,
            "root": model.name,
            "parent": null,
            "max_model_len": model.max_context_tokens,
        })
    }
}

/// A handler's result: both sides are responses.
type Answered = Result<Response<Body>, Response<Body>>;

/// All paths.
pub(super) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/completions", post(text))
        .route("/v1/models", get(models))
        .route("/v1/models/{*id}", get(one_model))
        .route("/health", get(|| async { "" }))
        .route("/version", get(version))
        .route("/metrics", get(metrics))
        .route("/tokenize", post(tokenize))
        .route("/detokenize", post(detokenize))
        .method_not_allowed_fallback(wrong_method)
        .fallback(anything_else)
        .with_state(app)
}

async fn chat(State(app): State<Arc<App>>, request: Request) -> Answered {
    complete(app, Kind::Chat, request).await
}

async fn text(State(app): State<Arc<App>>, request: Request) -> Answered {
    complete(app, Kind::Text, request).await
}

async fn complete(app: Arc<App>, kind: Kind, request: Request) -> Answered {
    let asked = async {
        let body = app.body(request).await?;
        Asked::read(kind, &body, app.menu())
    };
    let asked = asked.await.map_err(|refusal| refusal.response())?;
    let answer = app.engine.ask(Demand {
        deployment: asked.deployment,
        prompt_tokens: asked.prompt_tokens,
        output_tokens: asked.output_tokens,
    });
    Ok(stream::respond(app, asked, answer).await)
}

async fn models(State(app): State<Arc<App>>) -> Response<Body> {
    let models: Vec<Value> = app.models.iter().map(|model| app.describe(model)).collect();
    json(&json!({"object": "list", "data": models}))
}

async fn one_model(State(app): State<Arc<App>>, Path(id): Path<String>) -> Answered {
    let wanted = json!({"model": id});
    let fields = wanted.as_object().cloned().unwrap_or_default();
    let (_, model) = asked::model(&fields, &app.models).map_err(|refusal| refusal.response())?;
    Ok(json(&app.describe(model)))
}

async fn version() -> Response<Body> {
    json(&json!({"version": env!("CARGO_PKG_VERSION")}))
}

async fn metrics(State(app): State<Arc<App>>) -> Response<Body> {
    let text = app.engine.metrics().await;
    typed("text/plain; version=0.0.4; charset=utf-8", Body::from(text))
}

async fn tokenize(State(app): State<Arc<App>>, request: Request) -> Answered {
    let tokens = async {
        let body = app.body(request).await?;
        let fields = asked::object(&body)?;
        let text = match fields.get("prompt") {
            Some(Value::String(prompt)) => prompt.clone(),
            Some(_) => return Err(asked::wrong("prompt", "a string")),
            None => asked::chat(&fields)?,
        };
        Ok(app.tokenizer.encode(&text))
    };
    let tokens = tokens
        .await
        .map_err(|refusal: Refusal| refusal.response())?;
    let contexts = app.models.iter().filter_map(|one| one.max_context_tokens);
    Ok(json(&json!({
        "count": tokens.len(),
        "max_model_len": contexts.min(),
        "tokens": tokens,
    })))
}

async fn detokenize(State(app): State<Arc<App>>, request: Request) -> Answered {
    let text = async {
        let body = app.body(request).await?;
        let fields = asked::object(&body)?;
        let tokens = fields.get("tokens").and_then(Value::as_array);
        let numbers = tokens.and_then(|tokens| {
            let number = |token: &Value| u32::try_from(token.as_u64()?).ok();
            tokens.iter().map(number).collect::<Option<Vec<u32>>>()
        });
        let numbers = numbers.ok_or_else(|| asked::wrong("tokens", "an array of tokens"))?;
        let text = app.tokenizer.decode(&numbers);
        text.map_err(|token| Refusal::field("tokens", format!("there is no token {token}")))
    };
    let text = text.await.map_err(|refusal| refusal.response())?;
    Ok(json(&json!({"prompt": text})))
}

async fn wrong_method(method: Method, uri: Uri) -> Response<Body> {
    let path = uri.path();
    Refusal::method(format!("{path} does not take {method}")).response()
}

/// The hub's paths, which begin with a model's name, and everything that does not exist.
async fn anything_else(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let (method, path) = (request.method(), request.uri().path());
    if let (&Method::GET | &Method::HEAD, Some(found)) =
        (method, app.hub.answer(path, request.headers()))
    {
        return found;
    }
    let help = did_you_mean(path, PATHS.iter().copied())
        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    Refusal::not_found(format!("there is no {method} {path}{help}")).response()
}

/// A JSON response.
pub(super) fn json(value: &Value) -> Response<Body> {
    typed("application/json", Body::from(value.to_string()))
}

fn typed(kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The wall clock, in whole seconds since 1970.
pub(super) fn unix_time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
