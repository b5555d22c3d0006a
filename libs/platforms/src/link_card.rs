//! Link cards: the title, description and picture that a linked page declares, for platforms that
//! do not read the page themselves.
//!
//! The page is untrusted, so it is read with tight limits. An error only omits the card, or its
//! picture.

mod page_head;

use std::time::Duration;

use bytes::Bytes;
use domain::media::MimeType;
use futures::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use url::Url;

use self::page_head::PageHead;
use crate::http_clients::{self, HttpClients};
use crate::last_call::with_last_call;

/// The head of a page comes first.
const MAX_PAGE_BYTES: usize = 256 * 1024;

/// Every platform accepts this size.
const MAX_PICTURE_BYTES: usize = 1_000_000;

/// In pixels.
const MAX_PICTURE_SIDE: u32 = 4_000;

/// Timeout of the page, and again of its picture.
const FETCH: Duration = Duration::from_secs(5);

const MAX_HOPS: usize = 3;

#[derive(Debug)]
pub(crate) struct LinkCard {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    picture: Option<Url>,
}

impl LinkCard {
    /// Fetches the page; `None` if it has no card.
    pub(crate) async fn fetch(http: &HttpClients, link: &str) -> Option<Self> {
        let page = Url::parse(link).ok()?;
        let (page, head) = tokio::time::timeout(FETCH, read_head(http, page)).await.ok()??;
        let PageHead { title, description, picture } = head;
        let picture = picture.and_then(|it| page.join(&it).ok());
        Some(Self { title: title?, description, picture })
    }

    /// The original picture, which is public already. It is not decoded here; one that is too large
    /// is omitted.
    pub(crate) async fn picture(&self, http: &HttpClients) -> Option<(MimeType, Bytes)> {
        let picture = self.picture.clone()?;
        let fetched = async {
            let (_, response) = get(http, picture, "image/jpeg, image/png, image/webp").await?;
            let (bytes, is_whole) = read_start(response, MAX_PICTURE_BYTES).await;
            is_whole.then_some(bytes)
        };
        let bytes = tokio::time::timeout(FETCH, fetched).await.ok()??;
        let mime_type = MimeType::sniff(&bytes)?;
        let (width, height) = mime_type.picture_size(&bytes)?;
        (width.max(height) <= MAX_PICTURE_SIDE).then(|| (mime_type, bytes.into()))
    }
}

async fn read_head(http: &HttpClients, page: Url) -> Option<(Url, PageHead)> {
    let (page, response) = get(http, page, "text/html").await?;
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    if !kind.starts_with("text/html") && !kind.starts_with("application/xhtml+xml") {
        return None;
    }
    let (start, _) = read_start(response, MAX_PAGE_BYTES).await;
    // Text that is not UTF-8 gets replacement characters, and is omitted when the head is read.
    Some((page, page_head::read(&String::from_utf8_lossy(&start))))
}

/// Follows redirects here, so that each URL is checked like the first.
async fn get(http: &HttpClients, url: Url, accept: &str) -> Option<(Url, reqwest::Response)> {
    let mut url = url;
    for _ in 0..=MAX_HOPS {
        let request = http.get_page(url.clone()).ok()?.header(ACCEPT, accept).timeout(FETCH);
        // The status of this host is not that of the platform.
        let (response, _) = with_last_call(http_clients::send(request)).await;
        let response = response.ok()?;
        if response.status().is_success() {
            return Some((url, response));
        }
        let location = response.headers().get(LOCATION).filter(|_| response.status().is_redirection())?;
        url = url.join(location.to_str().ok()?).ok()?;
    }
    None
}

/// The body up to a limit, and whether it is complete.
async fn read_start(response: reqwest::Response, max_bytes: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let Ok(piece) = piece else { return (bytes, false) };
        let remaining = max_bytes - bytes.len();
        bytes.extend_from_slice(&piece[..piece.len().min(remaining)]);
        if remaining < piece.len() {
            return (bytes, false);
        }
    }
    (bytes, true)
}
