//! Facts: an `AppView` returns profiles without a token. Without one, the profile is read as a
//! record from the account's own server. The limits are those of the lexicon of posts.

use std::time::Duration;

use domain::connection::AccountInfo;
use domain::media::MimeType;
use domain::rules::{Counting, FileRule, Rule, Rules};
use http::Method;
use serde::Deserialize;
use tokio::time::timeout;
use url::Url;

use super::embed::MAX_PICTURES;
use super::identity::Identity;
use super::pds::address;
use super::reply::Reply;
use super::repository::{self, Record};
use crate::http_clients::HttpClients;

/// The limit of the lexicon.
const MAX_VIDEO_BYTES: u64 = 300_000_000;

/// The longest video of the video service, in seconds: the limit of the official clients.
const MAX_VIDEO_SECONDS: u32 = 10 * 60;

/// The limit of the lexicon.
pub(super) const MAX_PICTURE_BYTES: u64 = 2_000_000;

/// In pixels, as the official app sends pictures.
pub(super) const MAX_PICTURE_SIDE: u32 = 4_000;

/// The upload limit of a server that does not state it, in bytes.
pub(super) const DEFAULT_UPLOAD_LIMIT: u64 = 5 << 20;

/// The limit of the lexicon, in bytes.
const MAX_NAME_BYTES: usize = 640;

/// In bytes. A longer URL is not kept.
const MAX_AVATAR_BYTES: usize = 2048;

/// The soft limit that the lexicon asks clients to keep.
const MAX_GALLERY_PICTURES: u8 = 10;

pub(super) const MAX_IMAGE_BYTES: u64 = 20 << 20;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProfileView {
    pub(super) display_name: Option<String>,
    pub(super) avatar: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Server {
    pub(super) blob_upload_limit: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Videos {
    /// To the video service, which also converts GIFs and `QuickTime` files to MP4.
    ToService,
    /// To the account's own server, unchanged.
    ToServer { max_bytes: u64 },
}

/// `accepts_galleries`: whether the account's server knows [`GALLERY`](super::embed::GALLERY).
pub(super) fn rules(videos: Videos, accepts_galleries: bool) -> Rules {
    use MimeType::{Gif, Jpeg, Mp4, Png, Quicktime, Webp};
    let (types, max_video_bytes) = match videos {
        Videos::ToService => (vec![Jpeg, Png, Webp, Gif, Mp4, Quicktime], MAX_VIDEO_BYTES),
        Videos::ToServer { max_bytes } => (vec![Jpeg, Png, Webp, Mp4], max_bytes.min(MAX_VIDEO_BYTES)),
    };
    let max_duration = (videos == Videos::ToService).then_some(FileRule::MaxDuration { max: MAX_VIDEO_SECONDS });
    let mut rules = Rules::new(
        "Bluesky",
        [
            Rule::max_text(300, Counting::graphemes().short_links()),
            Rule::max_shown_text_bytes(3000),
            Rule::max_images(if accepts_galleries { MAX_GALLERY_PICTURES } else { MAX_PICTURES }.into()),
            Rule::max_videos(1),
            Rule::NotMixed,
            Rule::GifAlone,
            // Servers older than Bluesky's own receive smaller pictures, which the rule does not
            // mention.
            Rule::OfFiles(FileRule::FittedImageBytes { max: MAX_PICTURE_BYTES }),
            Rule::OfFiles(FileRule::FittedImageSide { max: MAX_PICTURE_SIDE }),
            Rule::mime_types(types),
            Rule::max_image_bytes(MAX_IMAGE_BYTES),
            Rule::max_video_bytes(max_video_bytes),
            // The lexicon has no limit for pictures; this is the limit of the official clients.
            Rule::max_alt_text(2000, Counting::graphemes()),
            Rule::max_video_alt_text(1000, Counting::graphemes(), 10_000),
        ],
    )
    .with_threads();
    rules.rules.extend(max_duration.map(Rule::OfFiles));
    rules
}

/// If the profile cannot be read within this time, the account has no name and no picture.
pub(super) async fn profile(http: &HttpClients, appview: &Url, identity: &Identity, within: Duration) -> AccountInfo {
    let fetched = async {
        match from_appview(http, appview, identity).await {
            Some(shown) => shown,
            None => from_record(http, identity).await.unwrap_or_default(),
        }
    };
    let shown = timeout(within, fetched).await.unwrap_or_default();
    AccountInfo {
        account_id: identity.did.as_str().to_owned(),
        username: identity.handle.as_ref().map(|it| it.as_str().to_owned()),
        display_name: shown.display_name.map(|it| truncate(&it, MAX_NAME_BYTES).to_owned()).filter(|it| !it.is_empty()),
        avatar: shown.avatar.filter(|it| it.len() <= MAX_AVATAR_BYTES),
        profile_url: Some(format!("https://bsky.app/profile/{}", identity.did.as_str())),
    }
}

fn truncate(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|it| text.is_char_boundary(*it));
    &text[..end.unwrap_or_default()]
}

async fn from_appview(http: &HttpClients, appview: &Url, identity: &Identity) -> Option<ProfileView> {
    let request = http.request_known_host(Method::GET, address(appview, "app.bsky.actor.getProfile")).ok()?;
    let reply = Reply::to(request.query(&[("actor", identity.did.as_str())])).await.ok()?;
    reply.status.is_success().then(|| reply.json())?
}

async fn from_record(http: &HttpClients, identity: &Identity) -> Option<ProfileView> {
    let did = identity.did.as_str();
    let Record { value, .. } =
        repository::read(http, (&identity.pds, did), "app.bsky.actor.profile", "self").await.ok()?;
    let avatar = value["avatar"]["ref"]["$link"].as_str().map(|cid| {
        let mut url = address(&identity.pds, "com.atproto.sync.getBlob");
        url.query_pairs_mut().append_pair("did", did).append_pair("cid", cid);
        url.into()
    });
    Some(ProfileView { display_name: value["displayName"].as_str().map(str::to_owned), avatar })
}

/// `None` if the server does not state it.
pub(super) async fn blob_limit(http: &HttpClients, pds: &Url) -> Option<u64> {
    let request = http.request_named_host(Method::GET, address(pds, "com.atproto.server.describeServer")).ok()?;
    let reply = Reply::to(request).await.ok()?;
    reply.status.is_success().then(|| reply.json::<Server>())??.blob_upload_limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_cut_between_characters() {
        assert_eq!(truncate("Alice", 640), "Alice");
        assert_eq!(truncate(&"a".repeat(700), 640).len(), 640);
        assert_eq!(truncate("aé", 2), "a");
        assert_eq!(truncate("é", 1), "");
        assert_eq!(truncate("", 1), "");
    }
}
