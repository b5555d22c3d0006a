//! The card of a link. Servers create none, so it is part of the post.

use std::time::Duration;

use serde_json::{Value, json};

use super::blob::Blob;
use super::pds::Pds;
use super::upload;
use crate::link_card::LinkCard;

const THUMBNAIL_TIMEOUT: Duration = Duration::from_secs(10);

/// The embed for a link; `None` if its page has no card.
pub(super) async fn fetch(pds: &Pds<'_>, link: &str) -> Option<Value> {
    let card = LinkCard::fetch(pds.http, link).await?;
    let mut external =
        json!({"uri": link, "title": card.title, "description": card.description.as_deref().unwrap_or_default()});
    if let Ok(Some(thumb)) = tokio::time::timeout(THUMBNAIL_TIMEOUT, thumb(pds, &card)).await {
        external["thumb"] = json!(thumb);
    }
    Some(json!({"$type": "app.bsky.embed.external", "external": external}))
}

async fn thumb(pds: &Pds<'_>, card: &LinkCard) -> Option<Blob> {
    let (mime, bytes) = card.picture(pds.http).await?;
    upload::bytes(pds, mime, &bytes).await.ok()
}
