//! The result of a delivery, as the platform shows it: whether it is public, how often, and how late.

use chrono::{DateTime, Utc};
use domain::delivery::{Delivery, State};

use super::time;

pub(super) struct Verdict {
    pub(super) seen: PlatformView,
    /// The last version that the service wrote; `None` if the history no longer has the delivery.
    pub(super) delivery: Option<Delivery>,
    /// Whether the delivery was cancelled, because the user changed the post.
    pub(super) is_void: bool,
}

/// The posts of a delivery that a platform shows.
#[derive(Debug)]
pub(super) enum PlatformView {
    /// The delivery's posts on the sandbox: id and time, oldest first.
    Sandbox(Vec<(usize, DateTime<Utc>)>),
    /// Whether a fake shows the post that the service has recorded.
    Fake { shows_it: bool },
    /// The platform is not in this process, so only the service's own record is known.
    Unseen,
}

/// The color of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Color {
    Good,
    Wrong,
    Quiet,
}

impl Color {
    /// The class in the style sheet.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Wrong => "bad",
            Self::Quiet => "quiet",
        }
    }
}

impl Verdict {
    /// A short text and its color.
    pub(super) fn text(&self, now: DateTime<Utc>) -> (String, Color) {
        match (self.posts().len(), &self.delivery) {
            (0, None) => ("not public".to_owned(), Color::Quiet),
            (0, Some(delivery)) => match &delivery.state {
                State::Failed { .. } => ("failed".to_owned(), Color::Wrong),
                State::Published => match self.seen {
                    PlatformView::Fake { shows_it: true } => ("public".to_owned(), Color::Good),
                    PlatformView::Unseen => ("published".to_owned(), Color::Good),
                    // The service has recorded the post as published, but the platform does not
                    // show it.
                    PlatformView::Fake { shows_it: false } | PlatformView::Sandbox(_) => {
                        ("not public".to_owned(), Color::Wrong)
                    }
                },
                State::Waiting if self.is_void => ("cancelled".to_owned(), Color::Quiet),
                State::Waiting if delivery.intent.is_some() => ("outcome unknown".to_owned(), Color::Quiet),
                State::Waiting if now < delivery.publish_at => ("scheduled".to_owned(), Color::Quiet),
                State::Waiting => ("waiting".to_owned(), Color::Quiet),
            },
            (1, _) => ("public once".to_owned(), Color::Good),
            (many, _) => (format!("public {many} times"), Color::Wrong),
        }
    }

    /// The delivery's posts on the sandbox.
    pub(super) fn posts(&self) -> &[(usize, DateTime<Utc>)] {
        match &self.seen {
            PlatformView::Sandbox(posts) => posts,
            PlatformView::Fake { .. } | PlatformView::Unseen => &[],
        }
    }

    /// The time of publication: by the sandbox's clock, for other platforms as the service has
    /// recorded it.
    fn first_public_at(&self) -> Option<DateTime<Utc>> {
        match &self.seen {
            PlatformView::Sandbox(posts) => posts.first().map(|(_, at)| *at),
            PlatformView::Fake { shows_it: true } | PlatformView::Unseen => {
                Some(self.delivery.as_ref()?.published.first()?.at)
            }
            PlatformView::Fake { .. } => None,
        }
    }

    /// Publication time minus due time; negative is early.
    pub(super) fn late_ms(&self) -> Option<i64> {
        Some((self.first_public_at()? - self.delivery.as_ref()?.publish_at).num_milliseconds())
    }

    /// [`Verdict::late_ms`] as text.
    pub(super) fn lateness(&self) -> String {
        match self.late_ms() {
            None => "–".to_owned(),
            Some(early) if early < 0 => format!("{} ms early", -early),
            Some(late) => format!("{late} ms"),
        }
    }

    /// The due time, with its date.
    pub(super) fn due(&self) -> String {
        let written = |it: &Delivery| it.publish_at.format("%-d %b %H:%M:%S%.3f").to_string();
        self.delivery.as_ref().map_or_else(|| "–".to_owned(), written)
    }

    /// The time of publication.
    pub(super) fn public_at(&self) -> String {
        self.first_public_at().map_or_else(|| "–".to_owned(), time)
    }

    /// Whether no further step is planned.
    pub(super) fn has_ended(&self) -> bool {
        self.is_void || self.delivery.as_ref().is_none_or(|it| it.state != State::Waiting)
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::delivery::{AttemptError, Published};
    use domain::testing::{a_delivery, noon};

    use super::*;

    fn verdict(public_ms: &[i64], delivery: Delivery) -> Verdict {
        let public = public_ms.iter().zip(1..).map(|(ms, id)| (id, noon() + TimeDelta::milliseconds(*ms))).collect();
        Verdict { seen: PlatformView::Sandbox(public), delivery: Some(delivery), is_void: false }
    }

    #[test]
    fn post_that_is_public_twice_is_marked_wrong() {
        let once = verdict(&[12], a_delivery());
        let twice = verdict(&[12, 15], a_delivery());

        assert_eq!(once.text(noon()), ("public once".to_owned(), Color::Good));
        assert_eq!((once.lateness(), once.public_at()), ("12 ms".to_owned(), "12:00:00.012".to_owned()));
        assert_eq!(twice.text(noon()), ("public 2 times".to_owned(), Color::Wrong));
    }

    #[test]
    fn a_post_on_another_platform_is_public_where_its_fake_shows_it() {
        let at = noon() + TimeDelta::milliseconds(12);
        let delivery = a_delivery().open_intent(noon()).record_publish(Ok(Published::new("at://a/post/1", at)), at, 0);
        let late = noon() + TimeDelta::seconds(1);
        let seen = |seen: PlatformView, delivery: &Delivery| {
            let verdict = Verdict { seen, delivery: Some(delivery.clone()), is_void: false };
            (verdict.text(late).0, verdict.text(late).1, verdict.lateness())
        };

        let shown = seen(PlatformView::Fake { shows_it: true }, &delivery);
        let lost = seen(PlatformView::Fake { shows_it: false }, &delivery);
        let unseen = seen(PlatformView::Unseen, &delivery);
        let waits = seen(PlatformView::Unseen, &a_delivery());

        assert_eq!(shown, ("public".to_owned(), Color::Good, "12 ms".to_owned()));
        assert_eq!(lost, ("not public".to_owned(), Color::Wrong, "–".to_owned()));
        assert_eq!(unseen, ("published".to_owned(), Color::Good, "12 ms".to_owned()));
        assert_eq!(waits, ("waiting".to_owned(), Color::Quiet, "–".to_owned()));
    }

    #[test]
    fn an_early_post_is_marked() {
        assert_eq!(verdict(&[-3], a_delivery()).lateness(), "3 ms early");
    }

    #[test]
    fn unpublished_delivery_shows_its_reason() {
        let begun = a_delivery().open_intent(noon());
        let refused = AttemptError::Refused { reason: "no".to_owned() };
        let failed = begun.clone().record_publish(Err(refused), noon(), 0);
        let later = noon() + TimeDelta::seconds(1);

        for (delivery, now, text) in [
            (a_delivery(), noon() - TimeDelta::seconds(1), "scheduled"),
            (a_delivery(), later, "waiting"),
            (begun, later, "outcome unknown"),
            (failed, later, "failed"),
        ] {
            assert_eq!(verdict(&[], delivery).text(now).0, text);
        }
        let void = Verdict { is_void: true, ..verdict(&[], a_delivery()) };
        assert_eq!(void.text(noon()).0, "cancelled");
    }
}
