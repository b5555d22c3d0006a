//! The card of a link. LinkedIn creates none for posts through its API.

use std::time::Duration;

use domain::media::MimeType;
use domain::rich_text::DisplayText;
use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use url::Url;

use super::api::Api;
use super::{LINK, LINK_PREVIEW};
use crate::kit::Auth;
use crate::link_card::LinkCard;
use crate::publish_request::PublishRequest;

const THUMBNAIL_TIMEOUT: Duration = Duration::from_secs(12);

/// In characters.
const MAX_TITLE: usize = 400;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Article {
    source: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The URN of its picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thumbnail: Option<String>,
}

/// The card of a post: of the link that its option names, or of the first link in its text, if the
/// linked page has a title.
pub(super) async fn find(api: &Api, request: &PublishRequest<'_>) -> Option<Article> {
    let named = request.options.text(LINK).map(str::to_owned);
    let is_named = named.is_some();
    let first = || DisplayText::new(request.text).links.into_iter().next().map(|it| it.uri);
    let wants = request.options.flag(LINK_PREVIEW) != Some(false);
    let source = named.or_else(|| first().filter(|_| wants))?;
    let card = LinkCard::fetch(&api.http, &source).await;
    // LinkedIn requires a title.
    let host = || Some(Url::parse(&source).ok()?.host_str()?.to_owned());
    let title = card.as_ref().map(|it| it.title.clone()).or_else(|| host().filter(|_| is_named))?;
    let thumbnail = async { thumbnail(api, request, card.as_ref()?).await };
    let thumbnail = tokio::time::timeout(THUMBNAIL_TIMEOUT, thumbnail).await.ok().flatten();
    let description = card.and_then(|it| it.description);
    Some(Article { title: title.chars().take(MAX_TITLE).collect(), source, description, thumbnail })
}

async fn thumbnail(api: &Api, request: &PublishRequest<'_>, card: &LinkCard) -> Option<String> {
    let (mime_type, bytes) = card.picture(&api.http).await?;
    if mime_type == MimeType::Webp {
        return None;
    }
    let contents = (bytes.len() as u64, stream::iter([Ok(bytes)]).boxed());
    let (auth, owner) = (Auth::post(request), &request.profile.account_id);
    api.upload_whole(auth, owner, "images", contents, THUMBNAIL_TIMEOUT).await.ok()
}
