//! Preparation: a draft with the full content of the post.
//!
//! The draft is created before its files, because the page of a file without a post is public, and
//! that of a draft's file is not.

use std::time::Duration;

use domain::delivery::AttemptError;
use domain::media::FileType;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::{Api, Caller};
use super::content::{EmbeddedFile, blocks};
use super::errors::ERRORS;
use super::terms;
use crate::article_html::{escaped, title_and_text};
use crate::deadline::Deadline;
use crate::kit::{CallError, Effect};
use crate::platform::Step;
use crate::publish_request::PublishRequest;
use crate::transport_error::TransportError;

/// Less than [`STEP_LIMIT`](crate::platform::STEP_LIMIT).
const TIMEOUT: Duration = Duration::from_secs(36);

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) draft: Option<u64>,
    /// The files uploaded so far, in the order of the post.
    files: Vec<Uploaded>,
    /// Whether the draft shows the files.
    pub(super) is_whole: bool,
}

#[derive(Serialize, Deserialize)]
struct Uploaded {
    id: u64,
    url: String,
}

pub(super) struct DraftPreparation<'a> {
    pub(super) api: &'a Api,
    pub(super) caller: Caller<'a>,
    pub(super) request: &'a PublishRequest<'a>,
}

impl DraftPreparation<'_> {
    /// Each step may be repeated: it looks for its result first.
    pub(super) async fn step(&self) -> Result<Step, AttemptError> {
        let request = self.request;
        let mut progress = Progress::load(request);
        let result = Deadline::begin(request.now).within(TIMEOUT, self.advance(&mut progress)).await;
        let late = || Err(CallError::from_transport(TransportError::Late, Effect::Private, ERRORS.title).into());
        match result.unwrap_or_else(late) {
            Ok(()) if progress.is_whole => Ok(Step::Ready { progress: progress.store() }),
            Ok(()) => Ok(Step::Again { progress: progress.store().unwrap_or_default(), at: request.now }),
            Err(refused @ AttemptError::Refused { .. }) => {
                self.discard(&progress).await;
                Err(refused)
            }
            Err(attempt_error) => Err(attempt_error),
        }
    }

    async fn advance(&self, progress: &mut Progress) -> Result<(), AttemptError> {
        match progress.draft {
            None => {
                progress.draft = Some(self.draft().await?);
                progress.is_whole = self.request.media.is_empty();
            }
            Some(draft) if progress.files.len() < self.request.media.len() => {
                let file = self.upload(draft, progress.files.len()).await?;
                progress.files.push(file);
            }
            Some(draft) => {
                let fields = self.content_fields(progress);
                self.api.change(self.caller, draft, &fields).await?;
                progress.is_whole = true;
            }
        }
        Ok(())
    }

    async fn draft(&self) -> Result<u64, AttemptError> {
        let Self { api, caller, request } = *self;
        let mark = request.slug_mark();
        if let Some(draft) = api.draft(caller, &mark).await? {
            return Ok(draft.id);
        }
        let (title, text) = title_and_text(request.text, request.options.text("title"), usize::MAX);
        let content = blocks(text, std::iter::empty());
        let mut fields = json!({ "status": "draft", "slug": mark, "title": escaped(&title), "content": content });
        if let Some(excerpt) = request.options.text("excerpt") {
            fields["excerpt"] = escaped(excerpt).into();
        }
        for taxonomy in ["categories", "tags"] {
            let names = request.options.list(taxonomy);
            if !names.is_empty() {
                fields[taxonomy] = terms::ids(api, caller, taxonomy, names).await?.into();
            }
        }
        Ok(api.make(caller, &fields).await?.id)
    }

    async fn upload(&self, draft: u64, number: usize) -> Result<Uploaded, AttemptError> {
        let Self { api, caller, request } = *self;
        let Some(file) = request.media.get(number) else { return Err(stale("the files of the post have changed")) };
        let place = format!("file {} of {}", number + 1, request.media.len());
        let with_position = |error: CallError| error.with_message(|why| format!("{place}: {why}"));
        let slug = format!("{}-{}", request.slug_mark(), number + 1);
        let uploaded = if let Some(medium) = api.medium(caller, &slug).await.map_err(with_position)? {
            // WordPress may have failed to create the smaller sizes during an upload whose response
            // was lost. Themes show the post without them, too.
            let is_image = file.mime_type.file_type() == FileType::Image;
            if is_image { api.create_image_sizes(caller, medium.id).await.unwrap_or(medium) } else { medium }
        } else {
            let bytes = request.files.open(file).await.map_err(CallError::from)?;
            api.upload(caller, draft, &slug, file, bytes, TIMEOUT).await.map_err(with_position)?
        };
        Ok(Uploaded { id: uploaded.id, url: uploaded.source_url })
    }

    fn content_fields(&self, progress: &Progress) -> Value {
        let request = self.request;
        let (_, text) = title_and_text(request.text, request.options.text("title"), usize::MAX);
        let is_image = |it: &EmbeddedFile<'_>| it.file.mime_type.file_type() == FileType::Image;
        let files = progress.files.iter().zip(request.media);
        let mut shown: Vec<_> = files.map(|(it, file)| EmbeddedFile { id: it.id, url: &it.url, file }).collect();
        let is_featured = request.options.flag("featured") == Some(true);
        let featured = shown.iter().position(is_image).filter(|_| is_featured).map(|at| shown.remove(at));
        let mut fields = json!({ "content": blocks(text, shown.into_iter()) });
        if let Some(featured) = featured {
            fields["featured_media"] = featured.id.into();
        }
        fields
    }

    /// Removes the draft of a post that will not be published. Its files go first: without their
    /// post, their pages are public. Best effort.
    pub(super) async fn discard(&self, progress: &Progress) {
        let Self { api, caller, .. } = *self;
        let Some(draft) = progress.draft else { return };
        for file in &progress.files {
            if api.delete(caller, "media", file.id).await.is_err() {
                return;
            }
        }
        if let Err(error) = api.delete(caller, "posts", draft).await {
            // Without the message, in which a site may repeat the password or the text.
            tracing::info!(kind = ?error.kind, status = ?error.status, "a draft could not be deleted");
        }
    }
}

impl Progress {
    pub(super) fn load(request: &PublishRequest<'_>) -> Self {
        request.progress()
    }

    fn store(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

pub(super) fn stale(reason: &str) -> AttemptError {
    AttemptError::PreparationExpired { reason: reason.to_owned() }
}
