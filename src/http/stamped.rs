//! A connection that notes when bytes pass.
//!
//! Invariant: a read is stamped when the system hands the bytes over, before anything looks at them; a request counts as
//! written at the first flush after which all its bytes have been handed to the socket.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::clock::Clock;
use crate::time::Time;

/// What a connection and who waits on it share.
#[derive(Debug)]
pub(super) struct Stamps {
    clock: Clock,
    marks: Mutex<Marks>,
}

#[derive(Debug, Default)]
struct Marks {
    read: Option<Time>,
    written: Option<Time>,
    /// Bytes of the request that must pass before it can be written in full.
    needed: usize,
    /// Whether the protocol has taken the whole body from us.
    is_handed: bool,
}

impl Stamps {
    pub(super) fn new(clock: Clock) -> Arc<Self> {
        let marks = Mutex::default();
        Arc::new(Self { clock, marks })
    }

    /// Forgets the request before; the next one has a body of `bytes`.
    pub(super) fn begin(&self, bytes: usize) {
        *self.marks() = Marks {
            needed: bytes,
            ..Marks::default()
        };
    }

    /// When the last read was made.
    pub(super) fn read(&self) -> Option<Time> {
        self.marks().read
    }

    /// When the request had been written in full.
    pub(super) fn written(&self) -> Option<Time> {
        self.marks().written
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_read(&self) {
        let now = self.clock.now();
        self.marks().read = Some(now);
    }

    fn has_passed(&self, bytes: usize) {
        let mut marks = self.marks();
        marks.needed = marks.needed.saturating_sub(bytes);
    }

    fn has_flushed(&self) {
        let now = self.clock.now();
        let mut marks = self.marks();
        if marks.is_handed && marks.needed == 0 {
            marks.written.get_or_insert(now);
        }
    }
}

/// The body of a request, which notes when it has been taken.
#[derive(Debug)]
pub(super) struct Outgoing {
    bytes: Option<Bytes>,
    stamps: Arc<Stamps>,
}

impl Outgoing {
    pub(super) fn new(bytes: Bytes, stamps: Arc<Stamps>) -> Self {
        let bytes = Some(bytes);
        Self { bytes, stamps }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let frame = self.bytes.take().map(|bytes| Ok(Frame::data(bytes)));
        self.stamps.marks().is_handed = true;
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// A byte stream that stamps.
#[derive(Debug)]
pub(super) struct Stamped<T> {
    inner: T,
    stamps: Arc<Stamps>,
}

impl<T> Stamped<T> {
    pub(super) fn new(inner: T, stamps: Arc<Stamps>) -> Self {
        Self { inner, stamps }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stamped<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.stamps.has_read();
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stamped<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.passed(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, parts);
        self.passed(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.stamps.has_flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<T> Stamped<T> {
    fn passed(&self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = written {
            self.stamps.has_passed(*bytes);
        }
    }
}
