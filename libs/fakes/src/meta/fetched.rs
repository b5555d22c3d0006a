//! Files that Meta fetches from URLs, and the limits of a platform for them.

use std::time::Duration;

use domain::media::{Facts, MimeType, Parts, Pixels};
use url::Url;

use crate::fake::wire::browser;

/// The timeout of a fetch.
const WITHIN: Duration = Duration::from_secs(10);

/// The longest URL of a picture. Meta documents no limit. Since March 2026 it refuses URLs of image
/// servers with a few hundred characters, and fetches short ones of the same service. This is the
/// lowest limit that the reports allow.
const MAX_ADDRESS_LENGTH: usize = 200;

#[derive(Clone, Debug)]
pub struct Fetched {
    /// The type that its bytes show.
    pub mime_type: MimeType,
    pub bytes: Vec<u8>,
    /// Read from the bytes.
    pub facts: Facts,
}

impl Fetched {
    /// `None` if the type of the bytes is unknown.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let mime_type = MimeType::sniff(&bytes)?;
        let facts = Parts::new(bytes.len() as u64, bytes.clone()).known_facts(mime_type);
        Some(Self { mime_type, bytes, facts })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFetched {
    /// The URL is invalid, or not publicly reachable.
    NoAddress,
    /// The server did not respond, or returned an error.
    NotThere,
    /// The type of the file is unknown, or differs from the `Content-Type`.
    NoMedium,
    /// Meta does not fetch from this host, and does not call it.
    HostRefused,
    /// The URL has a query, or is too long. Meta does not call its host.
    AddressRefused,
}

/// Fetches a video or a picture like [`fetch`]; a picture only from a short URL without a query.
pub async fn fetch_medium(is_video: bool, address: &str, refused_hosts: &[String]) -> Result<Fetched, NotFetched> {
    if !is_video && (MAX_ADDRESS_LENGTH < address.len() || address.contains(['?', '#', '%'])) {
        return Err(NotFetched::AddressRefused);
    }
    fetch(address, refused_hosts).await
}

/// Fetches a file without following redirects. The URL has to use HTTPS and contain no credentials;
/// its host may not be refused. HTTP is allowed for the loopback interface only.
pub async fn fetch(address: &str, refused_hosts: &[String]) -> Result<Fetched, NotFetched> {
    let url = Url::parse(address).map_err(|_| NotFetched::NoAddress)?;
    if url.host_str().is_some_and(|host| refused_hosts.iter().any(|it| it == host)) {
        return Err(NotFetched::HostRefused);
    }
    let is_here = matches!(url.host_str(), Some("127.0.0.1" | "localhost"));
    let is_web = url.scheme() == "https" || url.scheme() == "http" && is_here;
    if !is_web || !url.username().is_empty() {
        return Err(NotFetched::NoAddress);
    }
    let response = browser().get(url).timeout(WITHIN).send().await.map_err(|_| NotFetched::NotThere)?;
    if response.status() != 200 {
        return Err(NotFetched::NotThere);
    }
    let content_type = response.headers().get("content-type").and_then(|it| it.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let bytes = response.bytes().await.map_err(|_| NotFetched::NotThere)?.to_vec();
    Fetched::from_bytes(bytes).filter(|it| it.mime_type.as_str() == content_type).ok_or(NotFetched::NoMedium)
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub types: &'static [MimeType],
    pub max_bytes: usize,
    /// The narrowest aspect ratio, as width and height.
    pub narrowest: (u32, u32),
    pub widest: (u32, u32),
    /// The longest and the shortest duration of a video, in milliseconds.
    pub runs: (u64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileProblem {
    Type,
    /// The file has too many bytes.
    Size,
    /// The aspect ratio is too narrow or too wide.
    Ratio,
    /// The video is too long or too short.
    Duration,
    /// The `moov` box follows the `mdat` box, so that the video cannot be processed while it
    /// arrives.
    DescribedLast,
}

impl Limits {
    /// Limits of unknown facts are not checked.
    pub fn check(&self, file: &Fetched) -> Option<FileProblem> {
        if !self.types.contains(&file.mime_type) {
            return Some(FileProblem::Type);
        }
        if self.max_bytes < file.bytes.len() {
            return Some(FileProblem::Size);
        }
        let is_narrow = |pixels: Pixels, (width, height): (u32, u32)| {
            u64::from(pixels.width) * u64::from(height) < u64::from(width) * u64::from(pixels.height)
        };
        let is_wide = |pixels: Pixels, (width, height): (u32, u32)| {
            u64::from(width) * u64::from(pixels.height) < u64::from(pixels.width) * u64::from(height)
        };
        if file.facts.pixels.is_some_and(|it| is_narrow(it, self.narrowest) || is_wide(it, self.widest)) {
            return Some(FileProblem::Ratio);
        }
        let (longest, shortest) = self.runs;
        if file.facts.duration_ms.is_some_and(|it| longest < it || it < shortest) {
            return Some(FileProblem::Duration);
        }
        has_moov_at_end(file).then_some(FileProblem::DescribedLast)
    }
}

fn has_moov_at_end(file: &Fetched) -> bool {
    if !matches!(file.mime_type, MimeType::Mp4 | MimeType::Quicktime) {
        return false;
    }
    let mut rest = file.bytes.as_slice();
    while let Some((length, name)) = parse_box(rest) {
        match name {
            b"moov" => return false,
            b"mdat" => return true,
            _ => rest = rest.get(length..).unwrap_or_default(),
        }
    }
    false
}

/// The length and the name of the first box.
fn parse_box(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let length = u32::from_be_bytes(*bytes.first_chunk()?);
    let length = usize::try_from(length).ok().filter(|it| 8 <= *it)?;
    Some((length, bytes.get(4..8)?))
}
