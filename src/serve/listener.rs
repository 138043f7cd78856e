//! Takes a provider's connections, as many at once as the limits allow.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::router::{App, router};
use super::{Limits, connection};

/// How long to wait when the system has no more to give.
const PAUSE: Duration = Duration::from_millis(10);

/// Serves `app` on `socket` until `closed`, and then until its connections have ended.
pub(super) async fn listen(
    socket: TcpListener,
    app: App,
    limits: Limits,
    mut closed: watch::Receiver<bool>,
) {
    let router = router(Arc::new(app));
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await.ok();
            (socket.accept().await, place)
        };
        let (stream, place) = tokio::select! {
            _ = closed.wait_for(|closed| *closed) => break,
            accepted = accepted => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, _)) = stream else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let serving = connection::serve(stream, router.clone(), limits, closed.clone());
        connections.spawn(async move {
            serving.await;
            drop(place);
        });
    }
    drop(socket);
    while connections.join_next().await.is_some() {}
}
