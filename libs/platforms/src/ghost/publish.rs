//! Preparation, publishing, and looking up the outcome of the call.

use chrono::TimeDelta;
use domain::delivery::{Published, Resolution};
use domain::media::Attachment;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::Post;
use super::content::{draft, mark};
use super::errors::NOT_FOUND;
use super::{Ghost, Grant, NEWSLETTER, TITLE};
use crate::account::UnreadableGrant;
use crate::kit::{CallError, Effect, ErrorKind, File, LookUpMethod, MediaSource, Prepared, PublishAdapter, UploadStep};
use crate::publish_request::PublishRequest;

/// The draft of a post, stored until it is public.
#[derive(Serialize, Deserialize)]
struct Draft {
    id: String,
    /// Exactly as Ghost wrote it: the publish call names it.
    updated_at: String,
}

#[async_trait::async_trait]
impl PublishAdapter for Ghost {
    const TITLE: &'static str = TITLE;

    /// Servers, and the proxies in front of them, end a request after a minute at most.
    const SETTLE_TIME: TimeDelta = TimeDelta::seconds(90);

    const RECOGNIZES: bool = false;

    /// The file's URL.
    type Uploaded = String;

    fn media_source(&self, _: &PublishRequest<'_>, _: &Attachment) -> MediaSource {
        MediaSource::Original
    }

    /// A repeated upload leaves a file that nothing shows.
    async fn upload(&self, request: &PublishRequest<'_>, file: &File<'_>) -> Result<UploadStep<String>, CallError> {
        let grant = grant(request)?;
        let number = request.media.iter().position(|it| it.media_id == file.attachment.media_id).unwrap_or_default();
        let name = format!("{}-{}.{}", mark(request), number + 1, file.mime_type().extension());
        let collection = if file.is_video() { "media" } else { "images" };
        self.api.upload(request, &grant, collection, (&name, file)).await.map(UploadStep::Uploaded)
    }

    /// Creates the draft, or finds it.
    async fn prepare_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, String>,
    ) -> Result<(Value, TimeDelta), CallError> {
        let grant = grant(request)?;
        let post = match self.api.post_with_slug(&grant, &mark(request), request.now).await? {
            Some(post) => post,
            None => self.api.create(&grant, &draft(request, &prepared.files), request.now).await?,
        };
        let Post { id, updated_at, .. } = post;
        Ok((json!(Draft { id, updated_at }), TimeDelta::zero()))
    }

    /// Ghost derives an empty slug from the title.
    async fn create_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, String>,
    ) -> Result<Published, CallError> {
        let grant = grant(request)?;
        let Draft { id, updated_at } = stored(prepared)?;
        let slug = request.options.text("slug").unwrap_or_default();
        let mut fields = json!({ "updated_at": updated_at, "slug": slug });
        if is_public(request) {
            fields["status"] = "published".into();
        }
        let newsletter = request.options.text(NEWSLETTER).filter(|_| is_public(request));
        let post = self.api.publish(request, &grant, (&id, &fields), newsletter).await?;
        Ok(published(request, post))
    }

    fn look_up_method(&self, _: &PublishRequest<'_>) -> LookUpMethod {
        LookUpMethod::Draft
    }

    /// Reads the post. Its slug begins with our mark until the publish call takes effect: a number follows if the draft
    /// was created twice.
    async fn find_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, String>,
    ) -> Result<Resolution, CallError> {
        let grant = grant(request)?;
        let refused = |reason: &str| Ok(Resolution::Refused { reason: reason.to_owned() });
        let post = match self.api.post(&grant, &stored(prepared)?.id, request.now).await {
            Ok(post) => post,
            Err(error) if error.has_code(&[NOT_FOUND]) => return refused("its draft was deleted on the site"),
            Err(error) => return Err(error),
        };
        match (post.status.as_str(), is_public(request)) {
            ("draft", _) if post.slug.starts_with(&mark(request)) => Ok(Resolution::NotPublished),
            ("published" | "sent", _) | ("draft", false) => Ok(Resolution::Found(published(request, post))),
            (status, _) => {
                let reason = format!("the post on the site has the status {status}: somebody has changed it there");
                refused(&reason)
            }
        }
    }
}

fn grant(request: &PublishRequest<'_>) -> Result<Grant, CallError> {
    let unreadable =
        |error: UnreadableGrant| CallError::new(ErrorKind::Unauthorized, Effect::Private, error.to_string());
    Grant::load(request.credentials).map_err(unreadable)
}

fn stored(prepared: &Prepared<'_, String>) -> Result<Draft, CallError> {
    let expired = |_| CallError::new(ErrorKind::PreparationExpired, Effect::Private, "its draft is incomplete");
    serde_json::from_value(prepared.extra.clone()).map_err(expired)
}

fn is_public(request: &PublishRequest<'_>) -> bool {
    request.options.text("status") != Some("draft")
}

fn published(request: &PublishRequest<'_>, post: Post) -> Published {
    let at = post.published_at.filter(|_| post.status != "draft").unwrap_or(request.now);
    Published::new(post.id, at).with_url(post.url)
}
