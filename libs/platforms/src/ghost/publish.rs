use chrono::TimeDelta;
use domain::delivery::{Published, Resolution};
use domain::media::Attachment;
use serde_json::{Value, json};

use super::api::Post;
use super::content::draft;
use super::errors::{ERRORS, NOT_FOUND};
use super::{Ghost, Grant, NEWSLETTER, TITLE};
use crate::kit::{CallError, Effect, ErrorKind, File, LookUpMethod, MediaSource, Prepared, PublishAdapter, UploadStep};
use crate::publish_request::PublishRequest;

impl PublishAdapter for Ghost {
    const TITLE: &'static str = TITLE;

    /// Servers, and the proxies in front of them, end a request after a minute at most.
    const SETTLE_TIME: TimeDelta = TimeDelta::seconds(90);

    const RECOGNIZES: bool = false;

    type Uploaded = String;

    fn media_source(&self, _: &PublishRequest<'_>, _: &Attachment) -> MediaSource {
        MediaSource::Original
    }

    /// A repeated upload leaves a file that nothing shows.
    async fn upload(&self, request: &PublishRequest<'_>, file: &File<'_>) -> Result<UploadStep<String>, CallError> {
        let grant = Grant::load(request.credentials)?;
        let number = request.media.iter().position(|it| it.media_id == file.attachment.media_id).unwrap_or_default();
        let name = format!("{}-{}.{}", request.slug_mark(), number + 1, file.mime_type().extension());
        let collection = if file.is_video() { "media" } else { "images" };
        self.api.upload(request, &grant, collection, (&name, file)).await.map(UploadStep::Uploaded)
    }

    async fn prepare_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, String>,
    ) -> Result<(Value, TimeDelta), CallError> {
        let grant = Grant::load(request.credentials)?;
        let draft = draft(request, &prepared.files)?;
        let post = match self.api.post_with_slug(&grant, &request.slug_mark(), request.now).await? {
            Some(post) => post,
            None => self.api.create(&grant, &draft, request.now).await?,
        };
        Ok((post.id.into(), TimeDelta::zero()))
    }

    /// Reads the draft first, so that a person's edit is published, too. Nothing is sent if the post is already public:
    /// by an earlier call, or by a person.
    async fn create_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, String>,
    ) -> Result<Published, CallError> {
        let (grant, id) = (Grant::load(request.credentials)?, stored_id(prepared)?);
        let post = self.api.post(&grant, id, request.now).await.map_err(|error| {
            // A person who deleted the draft does not want the post.
            if error.has_code(&[NOT_FOUND]) { CallError::invalid_post(error.message) } else { error }
        })?;
        match post.status.as_str() {
            "published" | "sent" => return Ok(published(request, post)),
            "draft" => {}
            status => {
                let reason = format!("the draft has the status {status} on the site: it was changed there");
                return Err(CallError::invalid_post(reason));
            }
        }
        let mut fields = json!({ "updated_at": post.updated_at });
        if is_marked(request, &post) {
            // If the slug is empty, Ghost derives one from the title.
            fields["slug"] = request.options.text("slug").unwrap_or_default().into();
        }
        if is_public(request) {
            fields["status"] = "published".into();
        }
        let newsletter = request.options.text(NEWSLETTER).filter(|_| is_public(request));
        let post = match self.api.publish(&grant, (id, &fields), newsletter, request.now).await {
            Err(error)
                if newsletter.is_some() && matches!(error.kind, ErrorKind::Forbidden | ErrorKind::InvalidPost) =>
            {
                self.after_refused_mail(request, &grant, id, error).await?
            }
            result => result?,
        };
        if is_public(request) && post.status == "draft" {
            return Err(CallError::unreadable(ERRORS.title, Effect::Public));
        }
        Ok(published(request, post))
    }

    fn look_up_method(&self, _: &PublishRequest<'_>) -> LookUpMethod {
        LookUpMethod::Draft
    }

    async fn find_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, String>,
    ) -> Result<Resolution, CallError> {
        let grant = Grant::load(request.credentials)?;
        // A person has changed the post, and it may have been public before, and may have been sent by e-mail.
        let unknown = |change: &str| Ok(Resolution::Undeterminable { advice: format!("it was {change} on the site") });
        let post = match self.api.post(&grant, stored_id(prepared)?, request.now).await {
            Ok(post) => post,
            Err(error) if error.has_code(&[NOT_FOUND]) => return unknown("deleted"),
            Err(error) => return Err(error),
        };
        match (post.status.as_str(), is_public(request)) {
            ("draft", _) if is_marked(request, &post) => Ok(Resolution::NotPublished),
            ("published" | "sent", _) | ("draft", false) => Ok(Resolution::Found(published(request, post))),
            ("draft", true) => unknown("withdrawn, or edited as a draft,"),
            _ => unknown("scheduled"),
        }
    }
}

impl Ghost {
    /// Ghost may refuse the e-mail after it has published the post.
    async fn after_refused_mail(
        &self,
        request: &PublishRequest<'_>,
        grant: &Grant,
        id: &str,
        refusal: CallError,
    ) -> Result<Post, CallError> {
        let unknown = |error: CallError| CallError::new(ErrorKind::ServerError, Effect::Public, error.message);
        let post = self.api.post(grant, id, request.now).await.map_err(unknown)?;
        if post.status == "draft" { Err(refusal) } else { Ok(post) }
    }
}

fn stored_id<'a>(prepared: &Prepared<'a, String>) -> Result<&'a str, CallError> {
    let expired = || CallError::new(ErrorKind::PreparationExpired, Effect::Private, "its draft is incomplete");
    prepared.extra.as_str().ok_or_else(expired)
}

/// Whether the post still has the slug of its draft, which the publish call replaces. A number follows the mark if the
/// draft was created twice.
fn is_marked(request: &PublishRequest<'_>, post: &Post) -> bool {
    post.slug.starts_with(&request.slug_mark())
}

fn is_public(request: &PublishRequest<'_>) -> bool {
    request.options.text("status") != Some("draft")
}

fn published(request: &PublishRequest<'_>, post: Post) -> Published {
    let at = post.published_at.filter(|_| post.status != "draft").unwrap_or(request.now);
    Published::new(post.id, at).with_url(post.url)
}
