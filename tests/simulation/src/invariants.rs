mod backoff;
mod cancelled;
mod counted;
mod early;
mod ended;
mod events;
mod followed;
mod leaked;
mod moves_on;
mod notified;
mod paid;
mod stuck;
mod threads;
mod twice;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use domain::id::{PostId, TargetId};
use domain::post::{Post, Target};

pub(crate) use self::stuck::Watch;
use crate::bus::PublishedEvent;
use crate::simulated_platforms::{Public, Reference, Timeline};
use crate::store::{Journal, Version};
use crate::trace::Trace;
use crate::users::{People, WriterResponse};
use crate::webhooks::ReceivedMessage;

/// A post that is scheduled at least this long before its time must be published in its second.
const AHEAD: TimeDelta = TimeDelta::seconds(5);

pub(crate) struct History<'a> {
    pub(crate) people: &'a People,
    pub(crate) journal: &'a Journal,
    pub(crate) timeline: &'a Timeline,
    pub(crate) answers: Vec<WriterResponse>,
    pub(crate) published_events: Vec<PublishedEvent>,
    pub(crate) leaks: Vec<String>,
    pub(crate) deaths: u64,
    pub(crate) notified: Vec<ReceivedMessage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Lost,
    Duplicated,
    Stuck,
    Early,
    Other,
}

#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) kind: Kind,
    pub(crate) post: Option<PostId>,
    pub(crate) what: String,
}

impl Broken {
    fn new(kind: Kind, post: impl Into<Option<PostId>>, what: impl Into<String>) -> Self {
        Self { kind, post: post.into(), what: what.into() }
    }

    /// The error, followed by the part of the trace about its post.
    pub(crate) fn with_trace(&self, trace: &Trace) -> String {
        let mut text = self.what.clone();
        for line in self.post.iter().flat_map(|it| trace.entries_for(it.get())) {
            text.push_str("\n    ");
            text.push_str(&line);
        }
        text
    }
}

pub(crate) async fn check(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    broken.extend(twice::targets_are_published_at_most_once(history));
    broken.extend(twice::deliveries_claim_different_platform_posts(history));
    broken.extend(cancelled::confirmed_changes_take_effect(history));
    broken.extend(early::posts_are_not_early(history));
    broken.extend(ended::post_status_matches_the_platform(history));
    broken.extend(ended::platform_calls_are_valid(history));
    broken.extend(threads::segments_follow_one_another(history));
    broken.extend(threads::nothing_follows_a_segment_that_failed(history));
    broken.extend(followed::follow_ups_are_not_repeated(history));
    broken.extend(followed::follow_ups_are_completed(history));
    broken.extend(counted::post_counts_match_the_posts(history).await);
    broken.extend(counted::pending_marks_match_the_pending_targets(history));
    broken.extend(counted::ended_deliveries_are_not_due(history));
    broken.extend(events::every_outcome_has_an_event(history));
    broken.extend(events::every_event_matches_a_change(history));
    broken.extend(events::only_removed_posts_fail_after_they_were_published(history));
    broken.extend(events::every_lost_grant_has_an_event(history));
    broken.extend(events::every_scheduling_has_exactly_one_event(history));
    broken.extend(events::every_connect_and_disconnect_has_an_event(history));
    broken.extend(notified::every_event_reaches_its_endpoint(history));
    broken.extend(notified::endpoints_receive_only_events_of_their_user(history));
    broken.extend(moves_on::final_states_do_not_change(history));
    broken.extend(moves_on::refused_requests_change_nothing(history));
    broken.extend(paid::paid_look_ups_are_limited(history));
    broken.extend(backoff::retries_respect_the_backoff(history));
    broken.extend(backoff::duplicate_refusals_are_not_retried(history));
    broken.extend(leaked::credentials_are_not_logged(history));
    broken.extend(leaked::each_request_creates_one_post(history));
    broken
}

impl History<'_> {
    /// By target and segment.
    fn public_by_segment(&self) -> BTreeMap<(PostId, TargetId, usize), Vec<&Public>> {
        let mut by_segment: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for public in &self.timeline.public {
            let Reference { post, target, segment, .. } = public.reference;
            by_segment.entry((post, target, segment)).or_default().push(public);
        }
        for public in by_segment.values_mut() {
            public.sort_by_key(|it| it.at);
        }
        by_segment
    }

    /// The post as it was first written with this revision.
    fn revision(&self, post: PostId, revision: u64) -> Option<Version<'_>> {
        self.journal.versions(post).find(|it| it.post.revision == revision)
    }

    /// Whether one of these revisions showed the user that a segment may already be public: a user
    /// who sends the target again accepts a second post.
    fn was_warned(&self, reference: Reference, revisions: std::ops::Range<u64>) -> bool {
        let versions = self.journal.versions(reference.post).filter(|it| revisions.contains(&it.post.revision));
        let is_warned = |it: &Target| may_be_public(it) && it.public.len() == reference.segment;
        versions.filter_map(|it| it.post.target(reference.target)).any(is_warned)
    }

    fn was_removed(&self, post: PostId, target: TargetId, by: DateTime<Utc>) -> bool {
        let is_of_target = |it: &Public| (it.reference.post, it.reference.target) == (post, target);
        self.timeline.public.iter().any(|it| is_of_target(it) && it.removed_at.is_some_and(|at| at <= by))
    }

    /// Only posts that were scheduled well ahead.
    pub(crate) fn lateness(&self) -> Vec<TimeDelta> {
        let mut called = BTreeSet::new();
        let posts = self.timeline.begun.iter().filter(|it| it.reference.segment == 0);
        let first = posts.filter(|it| called.insert(it.reference));
        first
            .filter_map(|it| {
                let version = self.revision(it.reference.post, it.reference.revision)?;
                let due = version.post.scheduled_at?;
                (AHEAD <= due - version.at).then(|| it.at - due)
            })
            .collect()
    }

    fn targets(&self) -> impl Iterator<Item = (&Post, &Target)> {
        self.journal.posts().flat_map(|post| post.targets.iter().map(move |it| (post, it)))
    }
}

fn may_be_public(target: &Target) -> bool {
    target.failure == Some(domain::delivery::FailureClass::MayBePublic)
}
