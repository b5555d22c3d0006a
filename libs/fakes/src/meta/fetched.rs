//! Files that Meta fetches by their addresses, and what it takes of them.

use std::time::Duration;

use domain::media::{Facts, MimeType, Parts, Pixels};
use url::Url;

use crate::fake::wire::browser;

/// How long it is waited for a file.
const WITHIN: Duration = Duration::from_secs(10);

/// The longest address of a picture. Meta documents no limit: since March 2026 addresses of
/// image servers with a few hundred characters are refused, and short ones of the same
/// service are fetched. The shortest bound that they allow.
const MAX_ADDRESS_LENGTH: usize = 200;

/// A file.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// What its bytes show it to be.
    pub mime_type: MimeType,
    pub bytes: Vec<u8>,
    /// What it says of itself.
    pub facts: Facts,
}

impl Fetched {
    /// A file of these bytes; `None` where they are of no kind that is known.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let mime_type = MimeType::sniff(&bytes)?;
        let facts = Parts::new(bytes.len() as u64, bytes.clone()).known_facts(mime_type);
        Some(Self { mime_type, bytes, facts })
    }
}

/// Why a file is not to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFetched {
    /// The address is none, or none that anybody could reach.
    NoAddress,
    /// What is there did not answer, or refused.
    NotThere,
    /// It is no file of a kind that is known, or its server calls it another.
    NoMedium,
    /// Meta does not fetch from this host. The host is never called.
    HostRefused,
    /// The address has a query, or is long. Its host is never called.
    AddressRefused,
}

/// Fetches a video or a picture like [`fetch`], a picture from a short address without a query only.
pub async fn fetch_medium(is_video: bool, address: &str, refused_hosts: &[String]) -> Result<Fetched, NotFetched> {
    if !is_video && (MAX_ADDRESS_LENGTH < address.len() || address.contains(['?', '#', '%'])) {
        return Err(NotFetched::AddressRefused);
    }
    fetch(address, refused_hosts).await
}

/// Fetches a file: without following elsewhere, without a password, from an address that
/// has a scheme of the web, from none of the hosts that are refused. Without TLS, only
/// this machine is believed.
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

/// What a platform takes of pictures and videos.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub types: &'static [MimeType],
    /// The most bytes.
    pub max_bytes: usize,
    /// The narrowest, as width and height.
    pub narrowest: (u32, u32),
    pub widest: (u32, u32),
    /// The longest and the shortest that a video runs, in milliseconds.
    pub runs: (u64, u64),
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileProblem {
    Type,
    /// How many bytes it has.
    Size,
    /// How wide it is for its height.
    Ratio,
    /// How long it runs.
    Duration,
    /// It is described at its end, so that it cannot be read as it comes.
    DescribedLast,
}

impl Limits {
    /// What is wrong with a file, if anything is. What a file does not say of itself is
    /// not known here either.
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

/// Whether the `moov` of a video stands behind its `mdat`.
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
