//! From a name to a connection that takes requests, stamped phase by phase.
//!
//! All addresses of a host are tried, each a quarter of a second after the one before or as soon as that has failed, and the
//! first that answers is taken, so that a broken route to one of them does not stand for the server. Source: RFC 8305, §5.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::address::Address;
use super::clock::Clock;
use super::route::{Route, Tls};
use super::stamped::{Outgoing, Stamped, Stamps};
use crate::timeline::Timeline;

/// How long one address is tried alone.
const HEAD_START: std::time::Duration = std::time::Duration::from_millis(250);
/// The longest answer of a proxy \[bytes\].
const PROXY_HEAD: usize = 8 << 10;

/// A connection that takes one request at a time.
pub(super) struct Connection {
    sender: Sender,
    /// Reads and writes while it is polled.
    driver: Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>,
    is_over: bool,
    pub(super) stamps: Arc<Stamps>,
    pub(super) remote_address: String,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("remote_address", &self.remote_address)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

enum Sender {
    Http1(http1::SendRequest<Outgoing>),
    Http2(http2::SendRequest<Outgoing>),
}

impl Connection {
    /// Opens a connection and stamps `timeline` as it goes, so that whoever gives up knows where.
    pub(super) async fn open(
        route: &Route,
        clock: Clock,
        timeline: &mut Timeline,
    ) -> io::Result<Self> {
        let nearest = route.proxy.as_ref().unwrap_or(&route.address);
        let addresses = look_up(nearest).await?;
        timeline.dns = Some(clock.now());
        let mut tcp = connect(&addresses).await?;
        tcp.set_nodelay(true)?;
        let remote_address = tcp.peer_addr()?.to_string();
        if route.proxy.is_some() {
            tunnel(&mut tcp, &route.address).await?;
        }
        timeline.connected = Some(clock.now());
        let stamps = Stamps::new(clock);
        let (sender, driver) = match &route.tls {
            Some(tls) => {
                let stream = encrypt(tcp, tls, route.endpoint.http2).await?;
                timeline.tls = Some(clock.now());
                handshake(Stamped::new(stream, Arc::clone(&stamps)), route).await?
            }
            None => handshake(Stamped::new(tcp, Arc::clone(&stamps)), route).await?,
        };
        Ok(Self {
            sender,
            driver,
            is_over: false,
            stamps,
            remote_address,
        })
    }

    /// Sends `request`. The connection must be driven meanwhile and while the answer is read.
    pub(super) fn send(
        &mut self,
        request: Request<Outgoing>,
    ) -> Pin<Box<dyn Future<Output = hyper::Result<Response<Incoming>>> + Send>> {
        match &mut self.sender {
            Sender::Http1(sender) => Box::pin(sender.send_request(request)),
            Sender::Http2(sender) => Box::pin(sender.send_request(request)),
        }
    }

    /// Does `work` while the connection reads and writes. Both run in one task: nothing comes between a read and its use.
    pub(super) async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if !self.is_over && self.driver.as_mut().poll(cx).is_ready() {
                self.is_over = true;
            }
            work.as_mut().poll(cx)
        })
        .await
    }

    /// Whether it would take another request, as far as can be told without waiting.
    pub(super) async fn is_open(&mut self) -> bool {
        // A moment for the driver to notice that the server has closed.
        self.drive(std::future::ready(())).await;
        let is_closed = match &self.sender {
            Sender::Http1(sender) => sender.is_closed() || !sender.is_ready(),
            Sender::Http2(sender) => sender.is_closed(),
        };
        !self.is_over && !is_closed
    }
}

async fn look_up(address: &Address) -> io::Result<Vec<SocketAddr>> {
    let found = tokio::net::lookup_host((address.host.as_str(), address.port)).await?;
    let addresses: Vec<SocketAddr> = found.collect();
    if addresses.is_empty() {
        return Err(io::Error::other("the host has no address"));
    }
    Ok(addresses)
}

/// The first of `addresses` that answers.
async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut waiting = addresses.iter();
    let mut attempts = JoinSet::new();
    let mut failure = None;
    loop {
        match waiting.next() {
            Some(&address) => drop(attempts.spawn(TcpStream::connect(address))),
            None if attempts.is_empty() => break,
            None => {}
        }
        let ended = if waiting.len() > 0 {
            timeout(HEAD_START, attempts.join_next())
                .await
                .ok()
                .flatten()
        } else {
            attempts.join_next().await
        };
        match ended {
            Some(Ok(Ok(stream))) => return Ok(stream),
            Some(Ok(Err(error))) => failure = Some(graver(failure, error)),
            Some(Err(error)) => failure = Some(graver(failure, io::Error::other(error))),
            None => {}
        }
    }
    Err(failure.unwrap_or_else(|| io::Error::other("no address answers")))
}

/// Which of two addresses' failures tells more: a host that refuses was reached, whatever kept the client from the other.
fn graver(first: Option<io::Error>, second: io::Error) -> io::Error {
    let is_refusal = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    match first {
        Some(first) if is_refusal(&first) || !is_refusal(&second) => first,
        _ => second,
    }
}

/// Asks a proxy for a way through to `address`.
async fn tunnel(tcp: &mut TcpStream, address: &Address) -> io::Result<()> {
    let host = if address.host.contains(':') {
        format!("[{}]", address.host)
    } else {
        address.host.clone()
    };
    let to = format!("{host}:{}", address.port);
    let request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
    tcp.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == PROXY_HEAD {
            return Err(io::Error::other("the proxy's answer has no end"));
        }
        // One byte a time: what follows the head belongs to the server.
        head.push(tcp.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    if status.starts_with('2') {
        return Ok(());
    }
    let line = head.lines().next().unwrap_or_default();
    Err(io::Error::other(format!("the proxy answers `{line}`")))
}

async fn encrypt(
    tcp: TcpStream,
    tls: &Tls,
    http2: bool,
) -> io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let stream = tls.connector.connect(tls.name.clone(), tcp).await?;
    let protocol = stream.get_ref().1.alpn_protocol();
    if http2 && protocol != Some(b"h2") {
        return Err(io::Error::other("the server does not offer HTTP/2"));
    }
    Ok(stream)
}

type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

async fn handshake<T>(stream: Stamped<T>, route: &Route) -> io::Result<(Sender, Driver)>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (io, limit) = (TokioIo::new(stream), route.endpoint.limits.header_bytes);
    if route.endpoint.http2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.max_header_list_size(u32::try_from(limit).unwrap_or(u32::MAX));
        let (sender, driver) = builder.handshake(io).await.map_err(io::Error::other)?;
        return Ok((Sender::Http2(sender), Box::pin(driver)));
    }
    let mut builder = http1::Builder::new();
    // The least that hyper allows.
    builder.max_buf_size(limit.max(8 << 10));
    let (sender, driver) = builder.handshake(io).await.map_err(io::Error::other)?;
    Ok((Sender::Http1(sender), Box::pin(driver)))
}
