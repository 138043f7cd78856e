//! What a request leaves behind: the observation, its outcome, and messages that may be shown.

use super::Attempt;
use crate::http::route::Route;
use crate::observation::{Observation, Outcome};
use crate::timeline::{Exchange, Reason, Timeline};

impl Attempt<'_> {
    pub(super) fn into_exchange(self, reason: Option<Reason>) -> Exchange {
        let route = self.route;
        let timeline = self.whole_timeline();
        let reason = reason.map(|reason| redacted(reason, route));
        Exchange {
            observation: self.observation(&timeline, reason.as_ref()),
            timeline,
            status: self.status,
            http_version: self.http_version,
            is_reused: self.is_reused,
            remote_address: self.remote_address,
            usage: self.answer.usage,
            chunks: self.answer.chunks(),
            finish_reason: self
                .answer
                .finish_reason
                .as_deref()
                .map(|reason| route.shown(reason)),
            content: route.redacted(&self.answer.content),
            sent_at: self.sent_at,
            wall_drift_s: self.wall_drift_s,
            reason,
        }
    }

    /// The instants before the body and those within it.
    fn whole_timeline(&self) -> Timeline {
        let (own, body) = (&self.timeline, &self.answer.timeline);
        Timeline {
            first_comment: body.first_comment,
            role_chunk: body.role_chunk,
            first_token: body.first_token,
            first_reasoning: body.first_reasoning,
            first_content: body.first_content,
            first_visible: body.first_visible,
            last_token: body.last_token,
            ..*own
        }
    }

    fn observation(&self, timeline: &Timeline, reason: Option<&Reason>) -> Observation {
        let started = timeline.started.unwrap_or_default();
        let first_token = timeline.first_token;
        let end = timeline.end.unwrap_or(started);
        // A peer can answer before it was asked.
        let sent = timeline.written.unwrap_or(started);
        let sent = sent.min(first_token.unwrap_or(end)).min(end);
        Observation::new(
            self.request.id,
            self.request.endpoint,
            self.request.due.min(sent),
            sent,
            first_token,
            end,
            self.answer.tokens(),
            outcome(reason, first_token.is_some()),
        )
    }
}

/// The outcome that a reason means. Giving up on an answer whose first token has come censors nothing: it failed.
fn outcome(reason: Option<&Reason>, has_token: bool) -> Outcome {
    match reason {
        None => Outcome::Succeeded,
        Some(Reason::HttpStatus { status, .. }) => Outcome::Rejected { status: *status },
        Some(reason) if reason.is_client_fault() => Outcome::ClientFault,
        Some(Reason::TimedOut { .. }) if !has_token => Outcome::TimedOut,
        Some(_) => Outcome::Failed,
    }
}

/// The reason with a message that may be shown.
fn redacted(mut reason: Reason, route: &Route) -> Reason {
    match &mut reason {
        Reason::HttpStatus { message, .. }
        | Reason::StreamError { message, .. }
        | Reason::ParseError { message }
        | Reason::Connection { message, .. }
        | Reason::Refused { message, .. } => *message = route.shown(message),
        Reason::Empty | Reason::Truncated { .. } | Reason::TimedOut { .. } => {}
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Phase;

    #[test]
    fn an_outcome_follows_from_the_reason_and_the_first_token() {
        let timed_out = |phase| Reason::TimedOut { phase };
        assert_eq!(outcome(None, true), Outcome::Succeeded);
        assert_eq!(
            outcome(Some(&timed_out(Phase::Tls)), false),
            Outcome::ClientFault
        );
        assert_eq!(
            outcome(Some(&timed_out(Phase::Headers)), false),
            Outcome::TimedOut
        );
        assert_eq!(
            outcome(Some(&timed_out(Phase::Stream)), true),
            Outcome::Failed
        );
        assert_eq!(outcome(Some(&Reason::Empty), false), Outcome::Failed);
        let refused = Reason::HttpStatus {
            status: 429,
            retry_after: None,
            message: String::new(),
        };
        assert_eq!(
            outcome(Some(&refused), false),
            Outcome::Rejected { status: 429 }
        );
    }
}
