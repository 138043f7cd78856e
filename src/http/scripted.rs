//! A server of known times: it plays a script of raw writes to whoever asks, and notes when it really wrote.
//!
//! Invariant: what it notes are its own stamps by the run's clock, so that a client's error can be told from this server's
//! lateness. Time in a script counts from when a request had been read in full.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep_until};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::clock::Clock;
use crate::time::Time;

/// What happens after a request has been read. The end of the script closes the connection.
#[derive(Clone, Debug, Default)]
pub struct Script {
    steps: Vec<Step>,
    is_chunked: bool,
    is_kept: bool,
}

#[derive(Clone, Debug)]
enum Step {
    /// Until so long after the request was read.
    Until(Duration),
    Write(Vec<u8>),
    /// Closes with a reset instead of an end.
    Reset,
}

impl Script {
    /// The head of an event stream in chunks, at once.
    pub fn stream() -> Self {
        Self::chunked("Content-Type: text/event-stream\r\nCache-Control: no-cache\r\n")
    }

    /// A head with these header lines and a body in chunks, at once.
    pub fn chunked(headers: &str) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\n{headers}Transfer-Encoding: chunked\r\n\r\n");
        let mut script = Self::default().raw(head);
        script.is_chunked = true;
        script
    }

    /// A whole answer, at once.
    pub fn answer(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::default().raw(format!(
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// Waits until `millis` after the request was read.
    #[must_use]
    pub fn until(mut self, millis: u64) -> Self {
        self.steps.push(Step::Until(Duration::from_millis(millis)));
        self
    }

    /// Writes bytes as they are.
    #[must_use]
    pub fn raw(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Write(bytes.into()));
        self
    }

    /// Writes a piece of the body in one write.
    #[must_use]
    pub fn body(self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        if !self.is_chunked {
            return self.raw(bytes);
        }
        let length = format!("{:x}\r\n", bytes.len());
        self.raw([length.as_bytes(), bytes, b"\r\n"].concat())
    }

    /// Ends the body; the connection waits for another request.
    #[must_use]
    pub fn end(mut self) -> Self {
        self.is_kept = true;
        if self.is_chunked {
            return self.raw("0\r\n\r\n");
        }
        self
    }

    /// Closes with a reset.
    #[must_use]
    pub fn reset(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }
}

/// What the server knows of one request.
#[derive(Clone, Debug)]
pub struct Served {
    /// Which connection, counted from zero.
    pub connection: usize,
    /// Head and body as they came.
    pub request: String,
    /// When it had been read in full.
    pub read: Time,
    /// The instant before each write.
    pub writes: Vec<Time>,
}

/// The server, on a thread of its own.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    is_encrypted: bool,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
}

struct Shared {
    clock: Clock,
    scripts: Vec<(String, Script)>,
    tls: Option<TlsAcceptor>,
    served: Mutex<Vec<Served>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.scripts.iter().map(|(name, _)| name).collect();
        f.debug_struct("Shared")
            .field("scripts", &names)
            .finish_non_exhaustive()
    }
}

impl ScriptedServer {
    /// Serves each script under its name on loopback, encrypted where `tls` says how.
    pub fn start(
        scripts: Vec<(String, Script)>,
        clock: Clock,
        tls: Option<Arc<ServerConfig>>,
    ) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            clock,
            scripts,
            tls: tls.map(TlsAcceptor::from),
            served: Mutex::default(),
        });
        drop(runtime.spawn(accept(listener, Arc::clone(&shared))));
        Ok(Self {
            address,
            is_encrypted: shared.tls.is_some(),
            shared,
            runtime: Some(runtime),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL of a script.
    pub fn base_url(&self, script: &str) -> String {
        let port = self.address.port();
        if self.is_encrypted {
            // The name that certificates are made for.
            format!("https://localhost:{port}/{script}")
        } else {
            format!("http://127.0.0.1:{port}/{script}")
        }
    }

    /// The requests read so far, in order.
    pub fn served(&self) -> Vec<Served> {
        self.shared.served().clone()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    fn served(&self) -> MutexGuard<'_, Vec<Served>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The script that a request's path names first.
    fn script(&self, request: &str) -> Option<&Script> {
        let path = request.split(' ').nth(1)?;
        let name = path.trim_start_matches('/').split('/').next()?;
        let found = self.scripts.iter().find(|(script, _)| script == name)?;
        Some(&found.1)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    for connection in 0.. {
        let Ok((tcp, _)) = listener.accept().await else {
            return;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // A client that leaves is none of the server's errors.
            let _ = welcome(tcp, connection, &shared).await;
        });
    }
}

async fn welcome(tcp: TcpStream, connection: usize, shared: &Shared) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    match &shared.tls {
        Some(tls) => {
            let stream = tls.accept(tcp).await?;
            let reset = |stream: tokio_rustls::server::TlsStream<TcpStream>| {
                stream.get_ref().0.set_zero_linger()
            };
            serve(stream, reset, connection, shared).await
        }
        None => {
            serve(
                tcp,
                |tcp: TcpStream| tcp.set_zero_linger(),
                connection,
                shared,
            )
            .await
        }
    }
}

async fn serve<T: AsyncRead + AsyncWrite + Unpin>(
    mut stream: T,
    reset: impl Fn(T) -> io::Result<()>,
    connection: usize,
    shared: &Shared,
) -> io::Result<()> {
    loop {
        let Some(request) = read_request(&mut stream).await? else {
            return Ok(());
        };
        let read = (shared.clock.now(), Instant::now());
        let script = shared.script(&request).cloned().unwrap_or_else(|| {
            Script::answer("404 Not Found", "Content-Type: application/json\r\n", "{}").end()
        });
        let index = {
            let mut served = shared.served();
            served.push(Served {
                connection,
                request,
                read: read.0,
                writes: Vec::new(),
            });
            served.len() - 1
        };
        for step in script.steps {
            match step {
                Step::Until(after) => sleep_until(read.1 + after).await,
                Step::Write(bytes) => {
                    shared.served()[index].writes.push(shared.clock.now());
                    stream.write_all(&bytes).await?;
                    stream.flush().await?;
                }
                Step::Reset => return reset(stream),
            }
        }
        if !script.is_kept {
            return stream.shutdown().await;
        }
    }
}

/// A request's head and body; `None` when the client has closed.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().ok())?
        });
        if body.len() >= length.unwrap_or(0) {
            return Ok(Some(text.into_owned()));
        }
    }
}
