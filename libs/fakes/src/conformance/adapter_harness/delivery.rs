//! Deliveries: prepared, published, and looked up when a response is lost.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, CANDIDATE_WAIT, Claim, LostWindow, Published, Resolution};
use domain::media::Attachment;
use domain::options::Options;
use domain::post::SegmentKind;
use platforms::recognition::{Claims, ClaimsError};
use platforms::{Account, Credentials, FollowUp, Followed, LeadTimesByPlatform, PublishRequest, ReplyTo, Step};
use serde_json::Value;

use super::AdapterHarness;
use super::test_files::{TestFiles, Tunnel};
use crate::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use crate::conformance::options::options;
use crate::conformance::samples::Sample;

/// A post for one account, with the state of its delivery.
pub struct Post<'a> {
    pub account: &'a Account,
    pub text: String,
    pub media: Vec<Sample>,
    pub options: Options,
    /// Identical in all attempts.
    pub reference: String,
    pub publish_at: DateTime<Utc>,
    /// The progress of preparation, stored after each step.
    pub progress: Option<String>,
    /// Whether another program publishes it, so that no delivery claims it.
    pub is_by_other_program: bool,
    pub segment: SegmentKind,
    /// The first segment and the one before this one, for a reply or a comment.
    pub reply_to: Option<(Published, Published)>,
    /// When the first publish call with an unknown outcome began.
    unknown_since: Mutex<Option<DateTime<Utc>>>,
    /// The progress of a publish call that the platform accepted for later.
    accepted: Mutex<Option<String>>,
    lost_window: Option<LostWindow>,
    files: TestFiles,
    attachments: Vec<Attachment>,
}

#[derive(Debug)]
pub struct DeliveryResult {
    pub published: Published,
    /// In order.
    pub errors: Vec<AttemptError>,
}

/// More attempts than any fault of the suite lasts.
const ATTEMPTS: usize = 30;

impl Post<'_> {
    /// With these options instead of those that every post of the platform needs.
    #[must_use]
    pub fn with(self, values: Value) -> Self {
        Self { options: options(values), ..self }
    }
}

impl<N: FakePlatform + ?Sized> AdapterHarness<N> {
    pub fn lead(&self, media: &[Attachment]) -> Option<TimeDelta> {
        LeadTimesByPlatform::default().before(self.fake.name(), media)
    }

    /// A post that is due in 15 minutes.
    pub fn post<'a>(&self, account: &'a Account, text: &str, media: Vec<Sample>) -> Post<'a> {
        let publish_at = self.clock.now() + TimeDelta::minutes(15);
        let files = TestFiles::new(&media, Tunnel::default());
        let attachments = media.iter().map(|it| it.attachment.clone()).collect();
        let reference = format!("{}-7-1", self.next_post_number.fetch_add(1, Ordering::SeqCst));
        self.add_secret(text);
        let text = text.to_owned();
        let (progress, options) = (None, self.fake.options());
        Post {
            account,
            text,
            media,
            options,
            reference,
            publish_at,
            progress,
            is_by_other_program: false,
            segment: SegmentKind::Post,
            reply_to: None,
            unknown_since: Mutex::default(),
            accepted: Mutex::default(),
            lost_window: None,
            files,
            attachments,
        }
    }

    /// A reply to `parent`, or to the root itself if that is the parent. It is due now.
    pub fn reply<'a>(
        &self,
        account: &'a Account,
        (root, parent): (&Published, &Published),
        text: &str,
        media: Vec<Sample>,
    ) -> Post<'a> {
        let post = self.post(account, text, media);
        let options = post.options.of_replies();
        let reply_to = Some((root.clone(), parent.clone()));
        Post { segment: SegmentKind::Reply, reply_to, options, publish_at: self.clock.now(), ..post }
    }

    /// A first comment on a public post, due now.
    pub fn comment<'a>(&self, account: &'a Account, on: &Published, text: &str) -> Post<'a> {
        let post = self.reply(account, (on, on), text, Vec::new());
        Post { segment: SegmentKind::Comment, options: Options::default(), ..post }
    }

    pub async fn prepare(&self, post: &Post<'_>) -> Result<Step, AttemptError> {
        let (credentials, claims) = (self.credentials().await?, self.claims_for(post));
        self.check_redacted(
            self.publisher().prepare(&self.request(post, &credentials, &claims, post.progress.as_deref())).await,
        )
    }

    /// Takes the next step, and waits until the one after it. Returns whether it was the last.
    async fn step(&self, post: &mut Post<'_>) -> Result<bool, AttemptError> {
        match self.prepare(post).await? {
            Step::Ready { progress } => {
                post.progress = progress;
                Ok(true)
            }
            Step::Again { progress, at } => {
                post.progress = Some(progress);
                self.clock.skip_to(at);
                Ok(false)
            }
            Step::NeedsParent { .. } => panic!("the segment before this one is public"),
        }
    }

    /// All preparation steps. Waits after temporary errors.
    pub async fn prepare_all(&self, post: &mut Post<'_>, errors: &mut Vec<AttemptError>) -> Result<(), AttemptError> {
        let Some(lead_time) = self.lead(&post.attachments) else { return Ok(()) };
        self.clock.skip_to(post.publish_at - lead_time);
        for _ in 0..ATTEMPTS * 10 {
            match self.step(post).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => {
                    if matches!(error, AttemptError::PreparationExpired { .. }) {
                        post.progress = None;
                    }
                    self.wait_after(error, errors).await?;
                }
            }
        }
        panic!("it is never ready: {errors:?}")
    }

    /// Takes steps until an error or the end. Returns the error, and the elapsed time.
    pub async fn stepped(&self, post: &mut Post<'_>) -> (Option<AttemptError>, TimeDelta) {
        let began = self.clock.now();
        for _ in 0..ATTEMPTS * 10 {
            match self.step(post).await {
                Ok(false) => {}
                Ok(true) => return (None, self.clock.now() - began),
                Err(error) => return (Some(error), self.clock.now() - began),
            }
        }
        panic!("it never ends")
    }

    /// Prepares a post until then, as the protocol does: it waits after each temporary error.
    /// Returns the errors; the last one may be final.
    pub async fn prepare_until(&self, post: &mut Post<'_>, end: DateTime<Utc>) -> Vec<AttemptError> {
        let mut errors = Vec::new();
        while self.clock.now() < end {
            match self.step(post).await {
                Ok(false) => {}
                Ok(true) => break,
                Err(AttemptError::RetryLater { retry_at, reason }) => {
                    self.clock.skip_to(retry_at.unwrap_or_else(|| self.clock.now() + TimeDelta::minutes(30)));
                    errors.push(AttemptError::RetryLater { retry_at, reason });
                }
                Err(error) => {
                    errors.push(error);
                    break;
                }
            }
        }
        errors
    }

    /// A post that was prepared without an error, and is due.
    pub async fn due<'a>(&self, account: &'a Account, text: &str, media: Vec<Sample>) -> Post<'a> {
        let mut post = self.post(account, text, media);
        let mut errors = Vec::new();
        let prepared = self.prepare_all(&mut post, &mut errors).await;
        assert!(prepared.is_ok() && errors.is_empty(), "{prepared:?} after {errors:?}");
        self.clock.skip_to(post.publish_at);
        post
    }

    pub async fn publish(&self, post: &Post<'_>) -> Result<Published, AttemptError> {
        let credentials = self.credentials().await?;
        let claims = self.claims_for(post);
        let request = self.request(post, &credentials, &claims, post.progress.as_deref());
        let published = self.check_redacted(self.publisher().publish(&request).await);
        if matches!(published, Ok(_) | Err(AttemptError::Unknown { .. } | AttemptError::Duplicate { .. })) {
            post.unknown_since.lock().unwrap().get_or_insert(request.now);
        }
        if let Err(AttemptError::Accepted { progress, .. }) = &published {
            post.unknown_since.lock().unwrap().get_or_insert(request.now);
            post.accepted.lock().unwrap().clone_from(progress);
        }
        if let Ok(Published { platform_post_id, .. }) = &published {
            self.claim(post, platform_post_id);
        }
        published
    }

    /// Publishes with a fault that leaves the outcome unknown. Returns the start of the call.
    pub async fn lose_outcome(&self, post: &Post<'_>, fault: InjectedFault) -> DateTime<Utc> {
        let called_at = self.clock.now();
        self.fake.inject_fault(Call::Publish, fault, 1);
        let error = self.publish(post).await.unwrap_err();
        assert!(matches!(error, AttemptError::Unknown { .. }), "{error:?}");
        called_at
    }

    pub async fn resolve(&self, post: &Post<'_>, called_at: DateTime<Utc>) -> Resolution {
        let claims = self.claims_for(post);
        match self.credentials().await {
            Ok(credentials) => {
                let accepted = post.accepted.lock().unwrap().clone();
                let progress = accepted.as_deref().or(post.progress.as_deref());
                let request = PublishRequest { called_at, ..self.request(post, &credentials, &claims, progress) };
                let since = post.unknown_since.lock().unwrap().map_or(called_at, |it| it.min(called_at));
                let resolution = self.publisher().look_up(&request, since).await;
                self.assert_redacted(&resolution);
                resolution
            }
            Err(error) => panic!("the account is gone: {error:?}"),
        }
    }

    /// Restores a backup of `backup_at`, which has this progress of the post and no claim of later posts. The
    /// outcome of the post's publish call is unknown then.
    pub fn restore(&self, post: &mut Post<'_>, backup_at: DateTime<Utc>, progress: Option<String>) {
        post.progress = progress;
        post.accepted = Mutex::default();
        post.unknown_since = Mutex::new(Some(backup_at));
        let until = self.clock.now();
        post.lost_window = Some(LostWindow { since: backup_at, until, was_due: post.publish_at <= until });
        self.claims.lock().unwrap().clear();
    }

    pub async fn follow_up(
        &self,
        post: &Post<'_>,
        name: &str,
        published: &Published,
    ) -> Result<Followed, AttemptError> {
        self.follow_up_step(post, &FollowUp { name, published, progress: None }).await
    }

    /// Like [`AdapterHarness::follow_up`], for the step after this progress.
    pub async fn follow_up_step(&self, post: &Post<'_>, follow_up: &FollowUp<'_>) -> Result<Followed, AttemptError> {
        let (credentials, claims) = (self.credentials().await?, self.claims_for(post));
        let request = self.request(post, &credentials, &claims, post.progress.as_deref());
        self.check_redacted(self.publisher().follow_up(&request, follow_up).await)
    }

    /// Prepares and publishes a post. If a response is lost, the outcome is looked up, and the call
    /// is repeated only if the post is certainly not public. If no look-up is possible, the result
    /// is the unknown outcome.
    pub async fn deliver(&self, post: &mut Post<'_>) -> Result<DeliveryResult, AttemptError> {
        let mut errors = Vec::new();
        self.prepare_all(post, &mut errors).await?;
        self.clock.skip_to(post.publish_at);
        for _ in 0..ATTEMPTS {
            let since = self.clock.now();
            match self.publish(post).await {
                Ok(published) => return Ok(DeliveryResult { published, errors }),
                Err(lost @ AttemptError::Unknown { .. }) if !self.fake.can_look_up() => return Err(lost),
                Err(AttemptError::Unknown { may_still_run, retry_at, reason }) => {
                    errors.push(AttemptError::Unknown { may_still_run, retry_at, reason });
                    if let Some(published) = self.settle(post, since, may_still_run).await {
                        return Ok(DeliveryResult { published, errors });
                    }
                }
                Err(AttemptError::Accepted { .. }) => {
                    if let Some(published) = self.settle(post, since, true).await {
                        return Ok(DeliveryResult { published, errors });
                    }
                }
                Err(AttemptError::Duplicate { reason }) => {
                    errors.push(AttemptError::Duplicate { reason });
                    let published = self.look_up_repeatedly(post, since, None).await;
                    let published = published.expect("only a published post ends the look-ups");
                    return Ok(DeliveryResult { published, errors });
                }
                Err(AttemptError::PreparationExpired { reason }) => {
                    errors.push(AttemptError::PreparationExpired { reason });
                    post.progress = None;
                    self.clock.advance(TimeDelta::seconds(5));
                    self.prepare_all(post, &mut errors).await?;
                }
                Err(error) => self.wait_after(error, &mut errors).await?,
            }
        }
        panic!("it never goes out: {errors:?}")
    }

    /// Like [`AdapterHarness::deliver`], for a comment, which some platforms cannot look up.
    pub async fn deliver_comment(&self, comment: &mut Post<'_>) -> Result<Published, AttemptError> {
        if self.fake.can_look_up_comments() {
            return self.deliver(comment).await.map(|it| it.published);
        }
        self.prepare_all(comment, &mut Vec::new()).await?;
        for _ in 0..ATTEMPTS {
            match self.publish(comment).await {
                Err(AttemptError::RetryLater { .. }) => self.clock.advance(TimeDelta::seconds(30)),
                ended => return ended,
            }
        }
        panic!("it never goes out")
    }

    /// Records which post made a public post, and checks that no two made the same.
    fn claim(&self, post: &Post<'_>, platform_post_id: &str) {
        if !post.is_by_other_program {
            let mut claims = self.claims.lock().unwrap();
            let claimed_by = claims.entry(platform_post_id.to_owned()).or_insert_with(|| post.reference.clone());
            assert_eq!(*claimed_by, post.reference, "two posts have the id {platform_post_id}");
        }
    }

    fn claims_for(&self, post: &Post<'_>) -> KnownClaims {
        let owner = |reference: &String| if *reference == post.reference { Claim::Ours } else { Claim::Others };
        let claims = self.claims.lock().unwrap();
        let claims = claims.iter().filter(|_| self.publisher().recognizes_own_posts());
        KnownClaims(claims.map(|(id, reference)| (id.clone(), owner(reference))).collect())
    }

    fn request<'a>(
        &self,
        post: &'a Post<'_>,
        credentials: &'a Credentials,
        claims: &'a KnownClaims,
        progress: Option<&'a str>,
    ) -> PublishRequest<'a> {
        PublishRequest {
            profile: &post.account.profile,
            credentials,
            segment: post.segment,
            reply_to: post.reply_to.as_ref().map(|(root, parent)| ReplyTo { root, parent }),
            text: &post.text,
            media: &post.attachments,
            options: &post.options,
            reference: &post.reference,
            progress,
            may_have_published: post.unknown_since.lock().unwrap().is_some(),
            lost_window: post.lost_window,
            publish_at: post.publish_at,
            called_at: self.clock.now(),
            files: &post.files,
            claims,
            now: self.clock.now(),
        }
    }

    /// Looks up until the outcome of a publish call is certain. `None` if the post is not public.
    pub async fn settle(&self, post: &Post<'_>, since: DateTime<Utc>, may_still_run: bool) -> Option<Published> {
        let certain_at = if may_still_run { since + self.publisher().settle_time() } else { since };
        self.look_up_repeatedly(post, since, Some(certain_at)).await
    }

    /// Looks up until the post is found. From `settled_at` on, if it is set, `NotPublished` is
    /// believed.
    async fn look_up_repeatedly(
        &self,
        post: &Post<'_>,
        called_at: DateTime<Utc>,
        certain_at: Option<DateTime<Utc>>,
    ) -> Option<Published> {
        let mut candidate: Option<(String, DateTime<Utc>)> = None;
        for _ in 0..ATTEMPTS {
            self.clock.advance(TimeDelta::seconds(5));
            match self.resolve(post, called_at).await {
                Resolution::Found(published) => {
                    self.claim(post, &published.platform_post_id);
                    return Some(published);
                }
                Resolution::Candidate(published) => {
                    let now = self.clock.now();
                    let known = candidate.take().filter(|(id, _)| *id == published.platform_post_id);
                    let (id, at) = known.unwrap_or_else(|| (published.platform_post_id.clone(), now));
                    if at + CANDIDATE_WAIT <= now && certain_at.is_none_or(|it| it <= now) {
                        self.claim(post, &id);
                        return Some(published);
                    }
                    candidate = Some((id, at));
                }
                resolution @ (Resolution::NotFound | Resolution::NotPublished)
                    if certain_at.is_some_and(|it| it <= self.clock.now()) =>
                {
                    if resolution == Resolution::NotPublished {
                        *post.unknown_since.lock().unwrap() = None;
                    }
                    return None;
                }
                Resolution::NotFound | Resolution::NotPublished | Resolution::Pending { .. } => {}
                Resolution::Unauthorized { .. } => _ = self.refresh().await.unwrap(),
                Resolution::Refused { reason } => panic!("it was taken and then refused: {reason}"),
                Resolution::Undeterminable { advice } => panic!("it cannot be said: {advice}"),
            }
        }
        panic!("it is never certain")
    }

    async fn wait_after(&self, error: AttemptError, errors: &mut Vec<AttemptError>) -> Result<(), AttemptError> {
        match &error {
            AttemptError::RetryLater { retry_at: Some(at), .. } => _ = self.clock.skip_to(*at),
            AttemptError::Unauthorized { .. } if self.can_refresh() => {
                if self.refresh().await.is_err() {
                    return Err(error);
                }
            }
            AttemptError::Refused { .. } | AttemptError::Unauthorized { .. } => return Err(error),
            AttemptError::RetryLater { retry_at: None, .. }
            | AttemptError::PreparationExpired { .. }
            | AttemptError::Duplicate { .. }
            | AttemptError::Unknown { .. }
            | AttemptError::Accepted { .. } => {}
        }
        self.clock.advance(TimeDelta::seconds(5));
        errors.push(error);
        Ok(())
    }
}

/// The claims, as storage returns them to the delivery of one post.
struct KnownClaims(Vec<(String, Claim)>);

#[async_trait]
impl Claims for KnownClaims {
    async fn find(&self, ids: &[String]) -> Result<Vec<(String, Claim)>, ClaimsError> {
        Ok(self.0.iter().filter(|(it, _)| ids.contains(it)).cloned().collect())
    }
}

impl Post<'_> {
    pub fn max_open(&self) -> usize {
        self.files.max_open()
    }
}
