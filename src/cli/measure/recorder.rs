//! Where exchanges go as they end: into the file, synced, before anything else is sent.

use crate::http::Secret;
use crate::journal::{Journal, JournalError, Row, Whose};
use crate::measure::drive::{id_of, place_of};
use crate::observation::Observation;
use crate::request::EndpointId;
use crate::timeline::Exchange;

/// Whose requests a lane's are.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The target, as an index.
    pub(super) endpoint: EndpointId,
    /// Its name.
    pub(super) target: String,
    /// The model.
    pub(super) model: String,
    /// The session.
    pub(super) session: String,
    /// Requests at its beginning that are thrown away.
    pub(super) discard: u32,
}

impl Place {
    /// Whether a request is one of the lane's.
    pub(super) fn has(&self, row: &Row) -> bool {
        row.target == self.target && row.session == self.session
    }

    /// What of `rows` is the lane's, number `lane`.
    pub(super) fn done(&self, lane: usize, rows: &[Row]) -> Vec<Observation> {
        let own = rows.iter().filter(|row| self.has(row));
        own.map(|row| row.observation(id_of(lane, row.index - 1), self.endpoint))
            .collect()
    }
}

/// Writes exchanges down.
#[derive(Debug)]
pub(super) struct Recorder<'a> {
    journal: Journal,
    places: &'a [Place],
    secrets: &'a [Secret],
    rows: Vec<Row>,
    failure: Option<JournalError>,
}

impl<'a> Recorder<'a> {
    /// Goes on after `rows`; `places` are by lane.
    pub(super) fn new(
        journal: Journal,
        rows: Vec<Row>,
        places: &'a [Place],
        secrets: &'a [Secret],
    ) -> Self {
        Self {
            journal,
            places,
            secrets,
            rows,
            failure: None,
        }
    }

    /// Takes an exchange down. After a failure nothing more is written: the run is to end.
    pub(super) fn take(&mut self, exchange: &Exchange) {
        if self.failure.is_some() {
            return;
        }
        let row = self.row(exchange);
        match self.journal.append(&row) {
            Ok(()) => self.rows.push(row),
            Err(error) => self.failure = Some(error),
        }
    }

    fn row(&self, exchange: &Exchange) -> Row {
        let (lane, index) = place_of(exchange.observation.id());
        let place = &self.places[lane];
        let whose = Whose {
            target: &place.target,
            model: &place.model,
            session: &place.session,
            index: index + 1,
            discarded: index < place.discard,
        };
        Row::new(whose, exchange, &|text| redacted(self.secrets, text))
    }

    /// Whether something could not be written.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Every request so far, those of an earlier run included.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Every request, and why writing failed if it did.
    pub(super) fn into_parts(self) -> (Vec<Row>, Option<JournalError>) {
        (self.rows, self.failure)
    }
}

/// Takes every one of the secrets out of a text.
pub(super) fn redacted(secrets: &[Secret], text: &str) -> String {
    let take_out = |text: String, secret: &Secret| secret.redact(&text);
    secrets.iter().fold(text.to_owned(), take_out)
}
