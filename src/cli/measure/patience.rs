//! A target that can be interrupted: it waits in short pieces, so that whoever watches the run is asked between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::observation::Observation;
use crate::request::Request;
use crate::target::Target;
use crate::time::{Duration, Time};

/// The longest piece of waiting.
const PIECE: Duration = Duration::from_nanos(100_000_000);

/// A target that waits in short pieces.
#[derive(Debug)]
pub(super) struct InPieces<T>(pub(super) T);

impl<T: Target> Target for InPieces<T> {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn submit(&mut self, request: Request) {
        self.0.submit(request);
    }

    fn advance(&mut self, until: Time) -> Option<Observation> {
        self.0.advance(until.min(self.now() + PIECE))
    }
}

/// A flag that Ctrl-C, or a request to end, sets. The second one ends the program at once; whatever was written is synced.
pub(super) fn interruption() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("could not listen for Ctrl-C")?;
    let signals = {
        let _inside = runtime.enter();
        let listen = |kind| signal(kind).context("could not listen for Ctrl-C");
        [
            listen(SignalKind::interrupt())?,
            listen(SignalKind::terminate())?,
        ]
    };
    std::thread::spawn(move || runtime.block_on(listen(signals, &raised)));
    Ok(flag)
}

async fn listen(signals: [Signal; 2], raised: &AtomicBool) {
    let [mut interrupt, mut terminate] = signals;
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if raised.swap(true, Ordering::Relaxed) {
            leave();
        }
    }
}

#[expect(
    clippy::exit,
    reason = "whoever asks twice does not want to wait for anything"
)]
fn leave() -> ! {
    std::process::exit(i32::from(super::super::failure::INTERRUPTED))
}
