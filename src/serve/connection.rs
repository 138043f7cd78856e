//! One client's connection: HTTP/1.1 with limits on its head, on idling, and on a client that does not read.

use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};

use super::{GRACE, Limits};

/// Most bytes of a head; of its fields there may be 100, hyper's limit.
const HEAD_BYTES: usize = 64 << 10;

/// Serves a connection to its end. Once it idles or is `closed`, the request under way is the last, and has a little time left.
pub(super) async fn serve(
    stream: TcpStream,
    router: Router,
    limits: Limits,
    mut closed: watch::Receiver<bool>,
) {
    // Without it, small writes wait for acknowledgements. A connection that is gone says so when used.
    let _ = stream.set_nodelay(true);
    let use_of = Arc::new(Use::new());
    let router = TowerToHyperService::new(router);
    let service = service_fn(|request| {
        let guard = Use::begin(&use_of);
        let answer = router.call(request);
        async move {
            let response = answer.await?;
            Ok::<_, std::convert::Infallible>(response.map(|body| Guarded {
                body,
                _guard: guard,
            }))
        }
    });
    let connection = http1::Builder::new()
        .max_header_size(HEAD_BYTES)
        // A head that does not come is idling.
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(Patient::new(stream, limits.write)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = use_of.idle_for(limits.idle) => {}
        _ = closed.wait_for(|closed| *closed) => {}
    }
    connection.as_mut().graceful_shutdown();
    // Half a head, or a client that does not take the last of its answer, does not keep it open.
    let _ = timeout(GRACE, connection).await;
}

/// Whether a connection has a request, and since when it has none.
#[derive(Debug)]
struct Use(Mutex<(u32, Instant)>);

impl Use {
    fn new() -> Self {
        Self(Mutex::new((0, Instant::now())))
    }

    fn change(&self, change: i32) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = (state.0.saturating_add_signed(change), Instant::now());
    }

    fn begin(of: &Arc<Self>) -> InUse {
        of.change(1);
        InUse(Arc::clone(of))
    }

    /// Waits until there has been no request for `span`.
    async fn idle_for(&self, span: Duration) {
        loop {
            let (requests, since) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let over = since + span;
            if requests > 0 {
                sleep(span).await;
            } else if over <= Instant::now() {
                return;
            } else {
                sleep_until(over).await;
            }
        }
    }
}

/// A request on a connection, until its answer is gone.
#[derive(Debug)]
struct InUse(Arc<Use>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.change(-1);
    }
}

/// A response's body, with the use of the connection that lasts as long.
struct Guarded {
    body: Body,
    _guard: InUse,
}

impl HttpBody for Guarded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream whose peer must take something of what is written within a time.
struct Patient {
    stream: TcpStream,
    limit: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn new(stream: TcpStream, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            waiting: None,
        }
    }

    /// Passes on what became of a write, unless it has waited for too long.
    fn judge<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let limit = self.limit;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(limit)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.judge(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(shut, context)
    }
}
