//! An endpoint made ready: its address resolved into parts, its headers checked, its keys known for redaction.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    USER_AGENT,
};
use serde_json::{Map, Value, json};
use thiserror::Error;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::address::Address;
use super::endpoint::{ApiKind, Endpoint, OutputLimit};
use super::secret::Secret;
use crate::request::Request;

/// What messages are cut to \[characters\].
const MESSAGE: usize = 300;
/// Header values shorter than this are no secrets that could be told from other text.
const SHORTEST_SECRET: usize = 8;

/// Everything that is wrong with a list of endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct SetupError(Vec<String>);

impl SetupError {
    /// The problems, one text each.
    pub fn problems(&self) -> &[String] {
        &self.0
    }

    pub(super) fn new(problems: Vec<String>) -> Self {
        Self(problems)
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// An endpoint, ready to be asked.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) endpoint: Endpoint,
    pub(super) address: Address,
    /// The proxy to go through.
    pub(super) proxy: Option<Address>,
    pub(super) tls: Option<Tls>,
    pub(super) headers: HeaderMap,
}

/// How a connection is encrypted.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) connector: TlsConnector,
    pub(super) name: ServerName<'static>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Route {
    /// The endpoint made ready, or everything that is wrong with it.
    pub(super) fn new(endpoint: Endpoint) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut note = |what: String| problems.push(format!("target `{}`: {what}", endpoint.name));
        let address = Address::new(&endpoint.base_url, endpoint.api.path());
        let address =
            address.map_err(|wrong| note(format!("base_url `{}`: {wrong}", endpoint.base_url)));
        let proxy = endpoint.proxy.as_deref().map(read_proxy).transpose();
        let proxy = proxy.map_err(&mut note);
        let headers = headers(&endpoint, address.as_ref().ok()).map_err(&mut note);
        let tls = match &address {
            Ok(address) if address.is_encrypted => {
                Tls::new(&endpoint, address).map(Some).map_err(&mut note)
            }
            _ => Ok(None),
        };
        match (address, proxy, headers, tls) {
            (Ok(address), Ok(proxy), Ok(headers), Ok(tls)) => Ok(Self {
                endpoint,
                address,
                proxy,
                tls,
                headers,
            }),
            _ => Err(problems),
        }
    }

    /// The body of a request. `run` tells apart the nonces of two runs.
    pub(super) fn body(&self, request: &Request, run: u64) -> Vec<u8> {
        let endpoint = &self.endpoint;
        let mut body = Map::new();
        let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
        let prompt = if endpoint.nonce {
            format!("[{run:x}-{:x}] {}", request.id.0, endpoint.prompt)
        } else {
            endpoint.prompt.clone()
        };
        set("model", json!(endpoint.model));
        match endpoint.api {
            ApiKind::Chat => set("messages", json!([{"role": "user", "content": prompt}])),
            ApiKind::Completions => set("prompt", json!(prompt)),
        };
        match endpoint.output_limit {
            OutputLimit::MaxTokens => drop(set("max_tokens", json!(request.output_tokens))),
            OutputLimit::MaxCompletionTokens => {
                drop(set("max_completion_tokens", json!(request.output_tokens)));
            }
            OutputLimit::Unlimited => {}
        }
        if let Some(temperature) = endpoint.temperature {
            set("temperature", json!(temperature));
        }
        set("stream", json!(true));
        if endpoint.usage {
            set("stream_options", json!({"include_usage": true}));
        }
        for (name, value) in &endpoint.body {
            set(name, value.clone());
        }
        body.retain(|_, value| !value.is_null());
        Value::Object(body).to_string().into_bytes()
    }

    /// A text of the peer as it may be shown: without keys, in one line, shortened.
    pub(super) fn shown(&self, text: &str) -> String {
        let line = self
            .redacted(text)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        // Once more: a key may have been written over two lines.
        let line = self.redacted(&line);
        match line.char_indices().nth(MESSAGE) {
            Some((cut, _)) => format!("{}…", &line[..cut]),
            None => line,
        }
    }

    /// A text of the peer without keys.
    pub(super) fn redacted(&self, text: &str) -> String {
        let headers = self.endpoint.headers.iter().map(|(_, value)| value);
        let long = headers.filter(|value| value.expose().len() >= SHORTEST_SECRET);
        let secrets = self.endpoint.key.iter().chain(long);
        secrets.fold(text.to_owned(), |text, secret| secret.redact(&text))
    }
}

fn read_proxy(url: &str) -> Result<Address, String> {
    let address = Address::new(url, "").map_err(|wrong| format!("proxy `{url}`: {wrong}"))?;
    if address.is_encrypted {
        return Err(format!(
            "proxy `{url}`: its scheme is `https`, allowed is http"
        ));
    }
    Ok(address)
}

/// The headers of every request.
fn headers(endpoint: &Endpoint, address: Option<&Address>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let plain = HeaderValue::from_static;
    headers.insert(ACCEPT, plain("text/event-stream"));
    headers.insert(ACCEPT_ENCODING, plain("identity"));
    headers.insert(CONTENT_TYPE, plain("application/json"));
    headers.insert(
        USER_AGENT,
        plain(concat!("thermocline/", env!("CARGO_PKG_VERSION"))),
    );
    if let Some(address) = address.filter(|_| !endpoint.http2) {
        let host = HeaderValue::from_str(&address.authority);
        headers.insert(
            HOST,
            host.map_err(|_| "base_url: its host is no header value")?,
        );
    }
    if let Some(key) = &endpoint.key {
        let value = Secret::new(format!("Bearer {}", key.expose()));
        headers.insert(AUTHORIZATION, hidden("Authorization", &value)?);
    }
    for (name, value) in &endpoint.headers {
        let header = HeaderName::try_from(name.as_str());
        let header = header.map_err(|_| format!("header `{name}`: not a name of a header"))?;
        headers.insert(header, hidden(name, value)?);
    }
    Ok(headers)
}

/// A header's value that no `Debug` shows.
fn hidden(name: &str, value: &Secret) -> Result<HeaderValue, String> {
    let value = HeaderValue::from_str(value.expose());
    let mut value =
        value.map_err(|_| format!("header `{name}`: its value holds what a header cannot"))?;
    value.set_sensitive(true);
    Ok(value)
}

impl Tls {
    fn new(endpoint: &Endpoint, address: &Address) -> Result<Self, String> {
        let name = ServerName::try_from(address.host.clone());
        let name =
            name.map_err(|_| format!("base_url: `{}` is no name of a host", address.host))?;
        let roots = roots(endpoint.roots.as_deref())?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS: {error}"))?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        let protocol: &[u8] = if endpoint.http2 { b"h2" } else { b"http/1.1" };
        config.alpn_protocols = vec![protocol.to_vec()];
        // Every set-up does the same work.
        config.resumption = Resumption::disabled();
        let connector = TlsConnector::from(Arc::new(config));
        Ok(Self { connector, name })
    }
}

/// The system's certificates and those of `file`.
fn roots(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if let Some(file) = file {
        let wrong = |what: String| format!("roots `{}`: {what}", file.display());
        let read = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
        let mut count = 0;
        for certificate in read {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| wrong(error.to_string()))?;
            count += 1;
        }
        if count == 0 {
            return Err(wrong("it holds no certificate".to_owned()));
        }
    }
    if roots.is_empty() {
        return Err("the system has no trusted certificates: name a file in `roots`".to_owned());
    }
    Ok(roots)
}
