//! `/account/posts/{post}/attempts`: what each call to a platform did for a post, by account.
//!
//! The oldest attempt is first, so that a look-up follows the publish call that it looks up.

use std::collections::{BTreeMap, BTreeSet};

use api::page::{AccountPage, Page, PageResult, day, time_with_seconds};
use api::{Segments, SignedIn};
use askama::Template;
use axum::extract::State;
use domain::attempt::{Attempt, AttemptOutcome, AttemptStep};
use domain::id::TargetId;
use domain::post::{Accounts, Post, SegmentKind, Target, TargetStatus};
use domain::time_zone::TimeZone;

use crate::App;
use crate::posts_forms::find;
use crate::posts_page::{TargetRow, excerpt, segment_name};

/// More would not be read; the API lists all.
const SHOWN: usize = 200;

/// How much of the post's text is shown, in characters.
const TEXT_CHARS: usize = 80;

#[derive(Template)]
#[template(path = "attempts.html")]
struct AttemptsPage<'a> {
    /// The beginning of the post's text; empty for a post with files alone.
    text: String,
    targets: Vec<TargetAttempts<'a>>,
    is_cut: bool,
}

struct TargetAttempts<'a> {
    platform: &'a str,
    /// `None` if a change has removed the target since.
    target: Option<TargetRow>,
    is_published_once: bool,
    attempts: Vec<AttemptRow<'a>>,
}

struct AttemptRow<'a> {
    at: String,
    /// The reply or comment that the call was about; `None` for the post.
    part: Option<String>,
    step: &'static str,
    outcome: &'static str,
    is_good: bool,
    is_bad: bool,
    http_status: Option<u16>,
    duration_ms: u64,
    message: Option<&'a str>,
}

pub(crate) async fn show_attempts(
    State(app): State<App>,
    session: SignedIn,
    Segments(post): Segments<String>,
) -> PageResult<Page> {
    let post = find(&app, &session, &post).await?;
    let (store, now) = (&app.api.store, app.api.clock.now());
    let connection_ids = post.targets.iter().map(|it| it.connection_id);
    let (attempts, context) = futures::try_join!(
        store.attempts(post.user_id, post.post_id, now),
        store.load_post_context(session.user, connection_ids, [], None, now),
    )?;
    let page = AttemptsPage::new(&post, &attempts, &context.accounts, &session.zone());
    Ok(Page::render("Attempts", &page)?.signed_in(&session).with_account_navigation(AccountPage::Posts))
}

impl<'a> AttemptsPage<'a> {
    /// `attempts` are newest first.
    fn new(post: &Post, attempts: &'a [Attempt], accounts: &Accounts, zone: &TimeZone) -> Self {
        let is_cut = SHOWN < attempts.len();
        let mut by_target: BTreeMap<TargetId, Vec<&Attempt>> = BTreeMap::new();
        for attempt in attempts.iter().take(SHOWN).rev() {
            by_target.entry(attempt.target_id).or_default().push(attempt);
        }
        let targets = by_target.into_iter().filter_map(|(id, attempts)| {
            let target = post.target(id);
            Some(TargetAttempts {
                platform: &attempts.first()?.provider,
                target: target.map(|it| TargetRow::new(post, it, accounts)),
                is_published_once: !is_cut && target.is_some_and(|it| is_published_once(it, &attempts)),
                attempts: attempts.iter().map(|it| AttemptRow::new(it, post, zone)).collect(),
            })
        });
        Self { text: excerpt(post.text.as_str(), TEXT_CHARS), targets: targets.collect(), is_cut }
    }
}

/// Whether the target is public, and the attempts show that only one publish call of each segment
/// can have taken effect.
fn is_published_once(target: &Target, attempts: &[&Attempt]) -> bool {
    use {AttemptOutcome as Outcome, AttemptStep as Step};
    // A worker that died may have left no record of the call that a look-up did not find.
    let shows_a_call = |it: &&&Attempt| {
        matches!(
            (it.step, it.outcome),
            (Step::Publish, Outcome::Accepted | Outcome::Unknown) | (Step::LookUp, Outcome::NotFound)
        )
    };
    let mut segments = BTreeSet::new();
    target.status == TargetStatus::Published
        && target.published().is_some_and(|it| !it.handed_over)
        && attempts.iter().filter(shows_a_call).all(|it| segments.insert(it.segment))
        && !segments.is_empty()
}

impl<'a> AttemptRow<'a> {
    fn new(attempt: &'a Attempt, post: &Post, zone: &TimeZone) -> Self {
        let index = usize::from(attempt.segment);
        let segments = post.target(attempt.target_id).map(|it| post.segments(it)).unwrap_or_default();
        // A change can have removed the segment since.
        let kind = segments.get(index).map_or(SegmentKind::Reply, |it| it.kind);
        Self {
            at: format!("{}, {}", day(attempt.at, zone), time_with_seconds(attempt.at, zone)),
            part: (index != 0).then(|| segment_name(index, kind)),
            step: match attempt.step {
                AttemptStep::Prepare => "Preparation",
                AttemptStep::Publish => "Publish call",
                AttemptStep::LookUp => "Look-up",
                AttemptStep::Comment => "Follow-up",
            },
            outcome: match attempt.outcome {
                AttemptOutcome::Accepted => "Accepted",
                AttemptOutcome::Refused => "Refused",
                AttemptOutcome::RetryLater => "Not accepted yet",
                AttemptOutcome::Unknown => "Unknown outcome",
                AttemptOutcome::Found => "Found",
                AttemptOutcome::NotFound => "Not found",
            },
            is_good: matches!(attempt.outcome, AttemptOutcome::Accepted | AttemptOutcome::Found),
            is_bad: attempt.outcome == AttemptOutcome::Refused,
            http_status: attempt.http_status,
            duration_ms: attempt.duration_ms,
            message: match attempt.outcome {
                AttemptOutcome::Found => Some("The earlier call took effect, so it is not repeated."),
                _ => attempt.message.as_deref(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use chrono::TimeDelta;
    use domain::attempt::CallResult;
    use domain::delivery::{Delivery, Published};
    use domain::post::PublicSegment;
    use domain::testing::{a_connection, a_post, a_user, accounts, noon, text};

    use super::*;

    const CUT_OFF: &str = "The response was <cut off>";

    struct PageFixture {
        post: Post,
        accounts: Accounts,
    }

    impl PageFixture {
        /// A post that is public.
        fn new() -> Self {
            let user = a_user();
            let connection = a_connection(&user);
            let mut post = a_post(&user, Some(noon()), std::slice::from_ref(&connection));
            post.text = text("Hello <b>");
            let target = &mut post.targets[0];
            target.status = TargetStatus::Published;
            let published = Published { url: Some("https://a.example/p1".to_owned()), ..Published::new("p1", noon()) };
            target.public = vec![PublicSegment { published, content: None }];
            Self { post, accounts: accounts(&[connection]) }
        }

        fn attempt(&self, segment: usize, step: AttemptStep, outcome: AttemptOutcome) -> Attempt {
            let delivery = Delivery::new(&self.post, &self.post.targets[0], None, 1, noon());
            let message = (outcome == AttemptOutcome::Unknown).then(|| CUT_OFF.to_owned());
            let times = (noon(), noon() + TimeDelta::milliseconds(3));
            Attempt::new(&delivery, segment, step, times, outcome, message, CallResult::default())
        }

        /// The page of these attempts, oldest first.
        fn render(&self, attempts: &[(usize, AttemptStep, AttemptOutcome)]) -> String {
            let attempts = attempts.iter().rev().map(|it| self.attempt(it.0, it.1, it.2)).collect::<Vec<_>>();
            self.render_all(&attempts)
        }

        fn render_all(&self, attempts: &[Attempt]) -> String {
            AttemptsPage::new(&self.post, attempts, &self.accounts, &TimeZone::utc()).render().unwrap()
        }
    }

    #[test]
    fn lost_response_is_shown_from_the_publish_call_to_the_public_post() {
        let page = PageFixture::new().render(&[
            (0, AttemptStep::Publish, AttemptOutcome::Unknown),
            (0, AttemptStep::LookUp, AttemptOutcome::Found),
        ]);

        let parts = [
            "Hello &#60;b&#62;",
            "Published once",
            "<a href=\"https://a.example/p1\"",
            "Publish call: Unknown outcome",
            "The response was &#60;cut off&#62;",
            "Look-up: Found",
            "The earlier call took effect",
        ];
        let places = parts.map(|it| page.find(it).unwrap_or_else(|| panic!("{it} is not in {page}")));
        assert!(places.is_sorted(), "{page}");
        assert!(!page.contains("<b>") && !page.contains("<cut"), "{page}");
    }

    #[test]
    fn post_is_shown_as_published_once_only_if_one_call_can_have_published_it() {
        use AttemptOutcome::{Accepted, NotFound, RetryLater, Unknown};
        use AttemptStep::{LookUp, Publish};
        for (attempts, is_once) in [
            (vec![(0, Publish, Accepted)], true),
            (vec![(0, Publish, RetryLater), (0, Publish, Accepted)], true),
            (vec![(0, Publish, Accepted), (1, Publish, Accepted)], true),
            // Only the protocol excludes that both took effect.
            (vec![(0, Publish, Unknown), (0, LookUp, NotFound), (0, Publish, Accepted)], false),
            // The first publish call was not recorded.
            (vec![(0, LookUp, NotFound), (0, Publish, Accepted)], false),
            (vec![(0, LookUp, AttemptOutcome::Found)], false),
        ] {
            let page = PageFixture::new().render(&attempts);
            assert_eq!(page.contains("Published once"), is_once, "{attempts:?}");
            assert!(page.contains("Published"), "{page}");
        }
        let mut fixture = PageFixture::new();
        fixture.post.targets[0].status = TargetStatus::Failed;
        let page = fixture.render(&[(0, AttemptStep::Publish, AttemptOutcome::Unknown)]);
        assert!(page.contains("Failed") && !page.contains("Published once"), "{page}");
    }

    #[test]
    fn only_the_newest_attempts_are_shown_and_the_page_says_it() {
        let fixture = PageFixture::new();
        let oldest = fixture.attempt(0, AttemptStep::Prepare, AttemptOutcome::RetryLater);
        let mut attempts = vec![fixture.attempt(0, AttemptStep::Publish, AttemptOutcome::Accepted); SHOWN];

        assert!(!fixture.render_all(&attempts).contains("newest"));
        attempts.push(oldest);
        let page = fixture.render_all(&attempts);

        assert!(page.contains("newest 200") && !page.contains("Preparation"), "{page}");
    }

    #[test]
    fn attempts_of_a_removed_account_stay_on_the_page() {
        let mut fixture = PageFixture::new();
        let attempts = [fixture.attempt(0, AttemptStep::Publish, AttemptOutcome::Refused)];
        fixture.post.targets.clear();

        let page = fixture.render_all(&attempts);

        assert!(page.contains("no longer part of this post") && page.contains("Publish call: Refused"), "{page}");
    }
}
