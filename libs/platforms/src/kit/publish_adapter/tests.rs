use std::collections::VecDeque;
use std::sync::Mutex;

use bytes::Bytes;
use domain::connection::AccountInfo;
use domain::delivery::Claim;
use domain::media::{MimeType, PictureBounds};
use domain::options::Options;
use domain::post::SegmentKind;
use domain::testing::{a_connection, a_user, an_attachment, noon};
use futures::{StreamExt, stream};
use http::StatusCode;

use super::*;
use crate::account::Credentials;
use crate::publish_request::{FittedPicture, MediaBytes, MediaReadError, MediaReader};
use crate::recognition::{Claims, ClaimsError};

const PART_BYTES: u64 = 4;

type Responses<T> = Mutex<VecDeque<Result<T, CallError>>>;

#[derive(Default)]
struct Scripted {
    /// How many parts are sent before the publish call; `None` for all.
    first_parts: Option<u64>,
    failing_parts: Mutex<Vec<u64>>,
    finishes: Responses<()>,
    /// Pages of the list, with the cursor of the next one.
    pages: Vec<(Vec<&'static str>, Option<&'static str>)>,
    listed_at: Option<DateTime<Utc>>,
    /// The states of the posts of each page; public after the end.
    states: Vec<PostState>,
    needs_snapshot: bool,
    is_slow: bool,
    calls: Mutex<Vec<String>>,
}

impl Scripted {
    fn record(&self, call: impl Into<String>) {
        self.calls.lock().unwrap().push(call.into());
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

#[async_trait::async_trait]
impl Platform for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }
}

impl PublishAdapter for Scripted {
    const TITLE: &'static str = "Scripted";

    type Uploaded = String;

    fn media_source(&self, _: &PublishRequest<'_>, _: &Attachment) -> MediaSource {
        MediaSource::Original
    }

    async fn upload(&self, _: &PublishRequest<'_>, _: &File<'_>) -> Result<UploadStep<String>, CallError> {
        self.record("begin");
        let expires_at = Some(noon() + TimeDelta::hours(1));
        let state = match self.first_parts {
            Some(parts) => UploadState::in_first_parts("u1", PART_BYTES, parts),
            None => UploadState::in_parts("u1", PART_BYTES),
        };
        Ok(UploadStep::Parts(state.expires_at(expires_at)))
    }

    async fn send_part(
        &self,
        _: &PublishRequest<'_>,
        _: &File<'_>,
        _: &UploadState,
        part: Part,
    ) -> Result<String, CallError> {
        self.record(format!("part {}: {:?}", part.index, part.range));
        let mut failing = self.failing_parts.lock().unwrap();
        match failing.iter().position(|it| *it == part.index) {
            Some(at) => {
                failing.remove(at);
                Err(CallError::new(ErrorKind::NoResponse, Effect::Private, "timeout"))
            }
            None => Ok(format!("tag {}", part.index)),
        }
    }

    async fn finish_upload(
        &self,
        _: &PublishRequest<'_>,
        _: &File<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<String>, CallError> {
        self.record(format!("finish {}", state.part_tags.join(", ")));
        self.finishes.lock().unwrap().pop_front().unwrap_or(Ok(()))?;
        Ok(UploadStep::Processing(state.clone(), None))
    }

    async fn upload_status(
        &self,
        _: &PublishRequest<'_>,
        _: &File<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<String>, CallError> {
        self.record("status");
        Ok(if self.is_slow {
            UploadStep::Processing(state.clone(), None)
        } else {
            UploadStep::Uploaded(state.id.clone())
        })
    }

    async fn create_post(&self, _: &PublishRequest<'_>, _: &Prepared<'_, String>) -> Result<Published, CallError> {
        Ok(Published::new("1", noon()))
    }

    fn look_up_method(&self, _: &PublishRequest<'_>) -> LookUpMethod {
        LookUpMethod::List { snapshot: self.needs_snapshot }
    }

    async fn list_posts(
        &self,
        _: &PublishRequest<'_>,
        _: Option<DateTime<Utc>>,
        page: Option<&str>,
    ) -> Result<PostPage, CallError> {
        let at = page.map_or(0, |it| it.parse().unwrap());
        let (texts, next) = self.pages.get(at).cloned().unwrap_or_default();
        let post = |(index, text): (usize, &'static str)| ListedPost {
            id: format!("{at}-{index}"),
            at: self.listed_at,
            content: text.into(),
            state: self.states.get(index).cloned().unwrap_or_default(),
            ..ListedPost::default()
        };
        let posts = texts.into_iter().enumerate().map(post).collect();
        Ok(PostPage { posts, next: next.map(str::to_owned), is_sorted: true })
    }

    fn compare(&self, request: &PublishRequest<'_>, _: &Prepared<'_, String>, listed: &ListedPost) -> PostMatch {
        if listed.content == request.text { PostMatch::Equal } else { PostMatch::Different }
    }
}

struct Files;

#[async_trait::async_trait]
impl MediaReader for Files {
    async fn open(&self, attachment: &Attachment) -> Result<MediaBytes, MediaReadError> {
        let bytes = vec![1; usize::try_from(attachment.size_bytes).unwrap()];
        Ok(stream::iter([Ok(Bytes::from(bytes))]).boxed())
    }

    async fn fitted(&self, _: &Attachment, _: PictureBounds) -> Result<Option<FittedPicture>, MediaReadError> {
        panic!("originals are sent")
    }

    async fn ask_to_fit(&self, _: &Attachment, _: PictureBounds) -> Result<(), MediaReadError> {
        panic!("originals are sent")
    }
}

struct Claimed(&'static [&'static str]);

#[async_trait::async_trait]
impl Claims for Claimed {
    async fn find(&self, ids: &[String]) -> Result<Vec<(String, Claim)>, ClaimsError> {
        let claimed = ids.iter().filter(|it| self.0.contains(&it.as_str()));
        Ok(claimed.map(|it| (it.clone(), Claim::Others)).collect())
    }
}

/// A post with one file of 10 bytes, and its progress.
struct Target {
    profile: AccountInfo,
    credentials: Credentials,
    media: Vec<Attachment>,
    options: Options,
    claims: Claimed,
    progress: Option<String>,
    now: DateTime<Utc>,
}

impl Target {
    fn new() -> Self {
        Self {
            profile: a_connection(&a_user()).profile,
            credentials: Credentials::new("access".into()),
            media: vec![Attachment { mime_type: MimeType::Mp4, ..an_attachment(10) }],
            options: Options::default(),
            claims: Claimed(&[]),
            progress: None,
            now: noon(),
        }
    }

    fn without_files() -> Self {
        Self { media: Vec::new(), ..Self::new() }
    }

    fn request(&self) -> PublishRequest<'_> {
        PublishRequest {
            profile: &self.profile,
            credentials: &self.credentials,
            segment: SegmentKind::Post,
            reply_to: None,
            text: "Hello",
            media: &self.media,
            options: &self.options,
            reference: "post-1",
            progress: self.progress.as_deref(),
            may_have_published: false,
            lost_window: None,
            publish_at: noon(),
            called_at: self.now,
            files: &Files,
            claims: &self.claims,
            now: self.now,
        }
    }

    async fn step(&mut self, adapter: &Scripted) -> Result<bool, AttemptError> {
        let (progress, is_ready) = match adapter.prepare(&self.request()).await? {
            Step::Ready { progress } => (progress, true),
            Step::Again { progress, at } => {
                self.now = self.now.max(at);
                (Some(progress), false)
            }
            Step::NeedsParent { .. } => panic!("a post follows nothing"),
        };
        self.progress = progress;
        Ok(is_ready)
    }
}

fn error(kind: ErrorKind, status: Option<u16>) -> CallError {
    let error = CallError::new(kind, Effect::Private, "No.");
    CallError { status: status.map(|it| StatusCode::from_u16(it).unwrap()), ..error }
}

#[tokio::test]
async fn file_is_uploaded_in_parts_and_finished_once() {
    let (adapter, mut target) = (Scripted::default(), Target::new());
    while !target.step(&adapter).await.unwrap() {}
    let parts = ["part 0: 0..4", "part 1: 4..8", "part 2: 8..10"];
    assert_eq!(adapter.calls(), [&["begin"], &parts[..], &["finish tag 0, tag 1, tag 2", "status"]].concat());
}

#[tokio::test]
async fn first_parts_are_sent_one_per_step_without_the_rest() {
    let adapter = Scripted { first_parts: Some(2), failing_parts: Mutex::new(vec![0]), ..Scripted::default() };
    let mut target = Target::new();
    target.step(&adapter).await.unwrap();
    target.step(&adapter).await.unwrap_err();
    assert_eq!(adapter.calls(), ["begin", "part 0: 0..4"]);

    while !target.step(&adapter).await.unwrap() {}

    assert_eq!(adapter.calls(), ["part 0: 0..4", "part 1: 4..8", "finish tag 0, tag 1", "status"]);
}

#[tokio::test]
async fn accepted_post_that_was_not_published_is_prepared_again() {
    let mut target = Target::without_files();
    target.progress = Some(r#"{"accepted":"reference"}"#.to_owned());
    let published = Scripted::default().publish(&target.request()).await;
    assert!(matches!(published, Err(AttemptError::PreparationExpired { .. })), "{published:?}");
}

#[tokio::test]
async fn parts_that_arrived_before_the_failed_one_are_not_sent_again() {
    let adapter = Scripted { failing_parts: Mutex::new(vec![1]), ..Scripted::default() };
    let mut target = Target::new();
    target.step(&adapter).await.unwrap();
    target.step(&adapter).await.unwrap();
    adapter.calls();

    while !target.step(&adapter).await.unwrap() {}

    let calls = adapter.calls();
    assert_eq!(calls, ["part 1: 4..8", "part 2: 8..10", "finish tag 0, tag 1, tag 2", "status"]);
}

#[tokio::test]
async fn file_whose_first_part_failed_is_tried_again() {
    let adapter = Scripted { failing_parts: Mutex::new(vec![0]), ..Scripted::default() };
    let mut target = Target::new();
    target.step(&adapter).await.unwrap();

    let failed = target.step(&adapter).await.unwrap_err();
    assert!(matches!(failed, AttemptError::RetryLater { .. }), "{failed:?}");
    while !target.step(&adapter).await.unwrap() {}
}

#[tokio::test]
async fn finish_without_a_response_is_accepted_when_its_repetition_is_refused() {
    let lost = [ErrorKind::NoResponse, ErrorKind::ServerError, ErrorKind::Intermediary];
    for kind in lost {
        let finishes = [Err(error(kind, None)), Err(error(ErrorKind::InvalidPost, Some(400)))];
        let adapter = Scripted { finishes: Mutex::new(finishes.into()), ..Scripted::default() };
        let mut target = Target::new();
        while !target.step(&adapter).await.unwrap() {}
        let calls = adapter.calls();
        assert_eq!(calls.iter().filter(|it| it.starts_with("finish")).count(), 2, "{kind:?}: {calls:?}");
        assert_eq!(calls.last().map(String::as_str), Some("status"), "{kind:?}");
    }
}

#[tokio::test]
async fn finish_without_a_response_is_repeated_a_few_times_and_then_backs_off() {
    let finishes: VecDeque<_> = (0..10).map(|_| Err(error(ErrorKind::ServerError, Some(502)))).collect();
    let adapter = Scripted { finishes: Mutex::new(finishes), ..Scripted::default() };
    let mut target = Target::new();
    let mut steps = 0;
    let failed = loop {
        match target.step(&adapter).await {
            Ok(is_ready) => assert!(!is_ready && steps < 10),
            Err(setback) => break setback,
        }
        steps += 1;
    };
    assert!(matches!(&failed, AttemptError::RetryLater { reason, .. } if reason.contains("No.")), "{failed:?}");
}

#[tokio::test]
async fn repeated_finish_refused_for_another_reason_is_retried() {
    let finishes = [Err(error(ErrorKind::NoResponse, None)), Err(error(ErrorKind::NotReady, Some(400)))];
    let adapter = Scripted { finishes: Mutex::new(finishes.into()), ..Scripted::default() };
    let mut target = Target::new();
    for _ in 0..3 {
        target.step(&adapter).await.unwrap();
    }
    let failed = target.step(&adapter).await.unwrap_err();
    assert!(matches!(failed, AttemptError::RetryLater { .. }), "{failed:?}");
}

#[tokio::test]
async fn file_that_is_processed_without_end_is_uploaded_again() {
    let adapter = Scripted { is_slow: true, ..Scripted::default() };
    let mut target = Target::new();
    let expired = loop {
        if let Err(error) = target.step(&adapter).await {
            break error;
        }
    };
    assert!(matches!(expired, AttemptError::PreparationExpired { .. }), "{expired:?}");
}

#[tokio::test]
async fn finish_that_is_refused_at_once_refuses_the_file() {
    let finishes = [Err(error(ErrorKind::InvalidPost, Some(400)))];
    let adapter = Scripted { finishes: Mutex::new(finishes.into()), ..Scripted::default() };
    let mut target = Target::new();
    target.step(&adapter).await.unwrap();
    target.step(&adapter).await.unwrap();
    let refused = target.step(&adapter).await.unwrap_err();
    assert_eq!(refused, AttemptError::Refused { reason: "file 1 of 1 (video/mp4): No.".to_owned() });
}

#[tokio::test]
async fn upload_that_expired_is_begun_again() {
    let (adapter, mut target) = (Scripted::default(), Target::new());
    target.step(&adapter).await.unwrap();
    target.now += TimeDelta::hours(1);
    assert!(matches!(target.step(&adapter).await, Err(AttemptError::PreparationExpired { .. })));
}

#[tokio::test]
async fn publish_call_without_all_files_was_never_made() {
    let resolution = Scripted::default().look_up(&Target::new().request(), noon()).await;
    assert_eq!(resolution, Resolution::NotPublished);
}

#[tokio::test]
async fn only_a_complete_list_proves_that_a_post_is_missing() {
    let other = vec!["Other"; 3];
    for (pages, is_complete) in [
        (vec![(vec![], None)], true),
        (vec![(other.clone(), None)], true),
        (vec![(other.clone(), Some("1")), (other.clone(), None)], true),
        // A cursor that does not advance, and more pages than one look-up reads.
        (vec![(other.clone(), Some("0"))], false),
        ((1..30).map(|it| (other.clone(), Some(["1", "2"][it % 2]))).collect(), false),
    ] {
        let adapter = Scripted { pages, ..Scripted::default() };
        let resolution = adapter.look_up(&Target::without_files().request(), noon()).await;
        assert_eq!(matches!(resolution, Resolution::NotFound), is_complete, "{:?}: {resolution:?}", adapter.pages);
        assert!(is_complete || matches!(resolution, Resolution::Pending { .. }), "{resolution:?}");
    }
}

#[tokio::test]
async fn post_on_a_later_page_is_found_and_those_of_other_deliveries_are_not() {
    let pages = vec![(vec!["Other", "Hello"], Some("1")), (vec!["Hello"], None)];
    let adapter = Scripted { pages, listed_at: Some(noon()), ..Scripted::default() };
    let found = |resolution| match resolution {
        Resolution::Candidate(Published { platform_post_id, .. }) => platform_post_id,
        other => panic!("{other:?}"),
    };
    let mut target = Target::without_files();
    assert_eq!(found(adapter.look_up(&target.request(), noon()).await), "1-0", "the oldest, which followed the call");

    target.claims = Claimed(&["1-0"]);
    assert_eq!(found(adapter.look_up(&target.request(), noon()).await), "0-1");

    target.claims = Claimed(&["1-0", "0-1"]);
    assert_eq!(adapter.look_up(&target.request(), noon()).await, Resolution::NotFound);
}

#[tokio::test]
async fn post_that_the_snapshot_shows_is_older_than_the_call() {
    let pages = vec![(vec!["Hello"], None)];
    let adapter = Scripted { pages, needs_snapshot: true, ..Scripted::default() };
    let mut target = Target::without_files();
    target.now = noon() - TimeDelta::minutes(5);
    assert!(!target.step(&adapter).await.unwrap());
    assert_eq!(target.now, noon() - SNAPSHOT_LEAD);
    assert!(target.step(&adapter).await.unwrap());

    assert_eq!(adapter.look_up(&target.request(), noon()).await, Resolution::NotFound);
}

#[tokio::test]
async fn posts_behind_a_known_one_are_older_even_if_the_snapshot_did_not_keep_them() {
    let posts = [vec!["Other"; 30], vec!["Hello"]].concat();
    let adapter = Scripted { pages: vec![(posts, None)], needs_snapshot: true, ..Scripted::default() };
    let mut target = Target::without_files();
    assert!(target.step(&adapter).await.unwrap());

    assert_eq!(adapter.look_up(&target.request(), noon()).await, Resolution::NotFound);
}

#[tokio::test]
async fn post_of_an_unknown_time_is_not_recognized_without_a_snapshot() {
    let resolution = |listed_at| async move {
        let pages = vec![(vec!["Hello"], None)];
        let adapter = Scripted { pages, listed_at, ..Scripted::default() };
        adapter.look_up(&Target::without_files().request(), noon()).await
    };
    assert!(matches!(resolution(None).await, Resolution::Pending { .. }));
    assert!(matches!(resolution(Some(noon())).await, Resolution::Candidate(_)));
    let long_ago = noon() - TimeDelta::hours(1);
    assert_eq!(resolution(Some(long_ago)).await, Resolution::NotFound);
}

#[tokio::test]
async fn recognized_post_may_be_in_review_or_refused() {
    let (in_review, refused) = (PostState::NotYetPublic("wait".to_owned()), PostState::Refused("No.".to_owned()));
    let pending = || Resolution::Pending { reason: "wait".to_owned() };
    let long_ago = noon() - TimeDelta::minutes(1);
    for (states, listed_at, expected) in [
        (vec![in_review.clone()], noon(), pending()),
        (vec![refused.clone()], noon(), Resolution::Refused { reason: "No.".to_owned() }),
        // Earlier attempts of the user with the same text.
        (vec![refused.clone()], long_ago, Resolution::NotFound),
        (vec![in_review.clone(), refused.clone()], noon(), pending()),
        (vec![refused, in_review], noon(), pending()),
    ] {
        let pages = vec![(vec!["Hello"; states.len()], None)];
        let adapter = Scripted { pages, states, listed_at: Some(listed_at), ..Scripted::default() };
        let resolution = adapter.look_up(&Target::without_files().request(), noon()).await;
        assert_eq!(resolution, expected, "{:?}", adapter.states);
    }
}

#[tokio::test]
async fn unreadable_progress_does_not_prove_that_the_call_was_not_made() {
    let mut target = Target::new();
    target.progress = Some("{\"files\":[3]}".to_owned());
    let resolution = Scripted::default().look_up(&target.request(), noon()).await;
    assert!(matches!(resolution, Resolution::Pending { .. }), "{resolution:?}");
}
