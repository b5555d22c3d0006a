//! The card of a link. Servers make none; it has to come with the post.

use std::time::Duration;

use serde_json::{Value, json};

use super::blob::Blob;
use super::pds::Pds;
use super::upload;
use crate::link_card::LinkCard;

/// For the picture in all: its file and its upload.
const THUMB_WITHIN: Duration = Duration::from_secs(10);

/// The embed for a link, if its page has a card.
pub(super) async fn of(pds: &Pds<'_>, link: &str) -> Option<Value> {
    let card = LinkCard::of(pds.http, link).await?;
    let mut external =
        json!({"uri": link, "title": card.title, "description": card.description.as_deref().unwrap_or_default()});
    if let Ok(Some(thumb)) = tokio::time::timeout(THUMB_WITHIN, thumb(pds, &card)).await {
        external["thumb"] = json!(thumb);
    }
    Some(json!({"$type": "app.bsky.embed.external", "external": external}))
}

async fn thumb(pds: &Pds<'_>, card: &LinkCard) -> Option<Blob> {
    let (mime, bytes) = card.picture(pds.http).await?;
    upload::bytes(pds, mime, &bytes).await.ok()
}
