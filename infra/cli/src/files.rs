use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{Client, CreateMedium, Error, IdempotencyKey, MediumView, NewPost, NewPostMedia, PresignedUpload};
use futures::stream;
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};

use crate::error::CliError;
use crate::output::{is_interactive, notice, plain};

const CHUNK: usize = 64 * 1024;

/// For one upload or download.
pub(crate) const TRIES: u32 = 4;

/// The usual extension first.
const TYPES: [(&str, &[&str]); 7] = [
    ("image/jpeg", &["jpg", "jpeg"]),
    ("image/png", &["png"]),
    ("image/gif", &["gif"]),
    ("image/webp", &["webp"]),
    ("video/mp4", &["mp4", "m4v"]),
    ("video/quicktime", &["mov", "qt"]),
    ("application/pdf", &["pdf"]),
];

#[derive(Clone, Debug)]
pub(crate) struct Medium {
    said: String,
    mime_type: &'static str,
    from: MediaSource,
}

#[derive(Clone, Debug)]
enum MediaSource {
    Url,
    /// A file with its size in bytes, and a hash of them.
    Here {
        path: PathBuf,
        size: u64,
        hash: String,
    },
}

impl Medium {
    /// `input` is relative to `folder`.
    pub(crate) fn inspect(input: &str, folder: &Path) -> Result<Self, CliError> {
        let wrong = |why: &dyn std::fmt::Display| CliError::Usage(format!("{}: {why}", plain(input)));
        let is_url = input.starts_with("https://") || input.starts_with("http://");
        let file_name = if is_url { input.split(['?', '#']).next().unwrap_or(input) } else { input };
        let known = "unsupported file type; use .jpg, .png, .gif, .webp, .mp4, .mov or .pdf";
        let mime_type = mime_type(Path::new(file_name)).ok_or_else(|| wrong(&known))?;
        if is_url {
            return Ok(Self { said: input.to_owned(), mime_type, from: MediaSource::Url });
        }
        let path = folder.join(input);
        let (size, hash) = size_and_hash(&path).map_err(|it| wrong(&it))?;
        if size == 0 {
            return Err(wrong(&"the file is empty"));
        }
        Ok(Self { said: input.to_owned(), mime_type, from: MediaSource::Here { path, size, hash } })
    }

    /// Uploads the file or lets the service fetch it. Returns the path for the post. One key
    /// returns one path for a day.
    pub(crate) async fn send(&self, client: &Client, key: &str) -> Result<String, CliError> {
        let MediaSource::Here { path, size, hash } = &self.from else {
            let url = Some(self.said.clone());
            let medium =
                CreateMedium { mime_type: self.mime_type.to_owned(), source_url: url, ..CreateMedium::default() };
            let response =
                client.create_medium(&medium, Some(&derive_key(&[key, &self.said])?)).await.map_err(upload_error)?;
            return Ok(response.path().to_owned());
        };
        let medium =
            CreateMedium { mime_type: self.mime_type.to_owned(), size: Some(*size), ..CreateMedium::default() };
        for again in ["", "again"] {
            let response =
                client.create_medium(&medium, Some(&derive_key(&[key, hash, again])?)).await.map_err(upload_error)?;
            let MediumView::Presigned(target) = &response.value else {
                return Err(CliError::Failed("the service returned no upload URL".to_owned()));
            };
            match self.put(client, target, path, *size).await {
                // An upload URL of hours ago has expired. If the upload succeeded, the file keeps its
                // path, because a post under the same key must have the same body.
                Err(Error::Refused(_)) if response.replayed && again.is_empty() => {
                    if is_uploaded(client, &target.path).await? {
                        return Ok(target.path.clone());
                    }
                }
                ended => return ended.map(|()| target.path.clone()).map_err(upload_error),
            }
        }
        Err(CliError::Failed(format!("{}: the upload was refused", plain(&self.said))))
    }

    async fn put(&self, client: &Client, target: &PresignedUpload, path: &Path, size: u64) -> Result<(), Error> {
        let bar = bar(&self.said, size);
        let mut attempt = 1;
        loop {
            bar.set_position(0);
            let file = File::open(path).map_err(|it| Error::Unreachable(it.to_string()))?;
            let ended = client.upload(target, body(file, bar.clone()), size).await;
            match ended {
                Err(Error::Unreachable(why)) if attempt < TRIES => {
                    notice(&format!("{}: {why}; trying again", plain(&self.said)));
                    tokio::time::sleep(Duration::from_secs(u64::from(attempt))).await;
                    attempt += 1;
                }
                ended => {
                    bar.finish_and_clear();
                    return ended;
                }
            }
        }
    }
}

/// Validates a post with the file to find out.
async fn is_uploaded(client: &Client, path: &str) -> Result<bool, CliError> {
    let media = Some(vec![NewPostMedia::Path(path.to_owned())]);
    let post = NewPost { media, ..NewPost::new("-".to_owned()) };
    match client.validate_post(&post).await {
        Ok(_) => Ok(true),
        // A post without an account is refused in any case.
        Err(Error::Refused(refusal)) if refusal.status == 422 => {
            Ok(!refusal.errors.keys().any(|it| it.starts_with("media")))
        }
        Err(error) => Err(upload_error(error)),
    }
}

/// It may be unknown whether the file arrived, but no post exists.
fn upload_error(error: Error) -> CliError {
    match error {
        Error::Unknown(why) | Error::Unreadable(why) => CliError::Failed(why),
        error => error.into(),
    }
}

/// For a request that another request depends on.
fn derive_key(parts: &[&str]) -> Result<IdempotencyKey, CliError> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    IdempotencyKey::parse(hex(&hash.finalize())).map_err(|it| CliError::Failed(it.to_string()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|it| [it >> 4, it & 15]);
    digits.filter_map(|it| char::from_digit(it.into(), 16)).collect()
}

/// Returns the size in bytes.
fn size_and_hash(path: &Path) -> std::io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let (mut hash, mut size, mut chunk) = (Sha256::new(), 0, vec![0; CHUNK]);
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok((size, hex(&hash.finalize())));
        }
        hash.update(&chunk[..read]);
        size += read as u64;
    }
}

fn body(mut file: File, bar: ProgressBar) -> reqwest::Body {
    let chunks = std::iter::from_fn(move || {
        let mut chunk = vec![0; CHUNK];
        match file.read(&mut chunk) {
            Ok(0) => None,
            Ok(read) => {
                chunk.truncate(read);
                bar.inc(read as u64);
                Some(Ok(chunk))
            }
            Err(error) => Some(Err(error)),
        }
    });
    reqwest::Body::wrap_stream(stream::iter(chunks))
}

/// Hidden unless standard error is a terminal.
pub(crate) fn bar(name: &str, size: u64) -> ProgressBar {
    if !is_interactive() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(size).with_message(plain(name));
    // The template is ours; if it were invalid, the plain bar is shown.
    match ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {eta}") {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

fn mime_type(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_lowercase();
    TYPES.iter().find(|it| it.1.contains(&&*extension)).map(|it| it.0)
}

/// Without the dot; `None` for a type that this version does not know.
pub(crate) fn extension(mime_type: &str) -> Option<&'static str> {
    TYPES.iter().find(|it| it.0 == mime_type).map(|it| it.1[0])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::*;

    #[test]
    fn file_is_checked_before_anything_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.PNG"), "picture").unwrap();
        std::fs::write(folder.path().join("empty.png"), "").unwrap();

        let medium = Medium::inspect("a.PNG", folder.path()).unwrap();
        assert_eq!(medium.mime_type, "image/png");
        assert!(matches!(medium.from, MediaSource::Here { size: 7, .. }));
        assert_eq!(Medium::inspect("https://example.com/a.jpg?b=c.d", folder.path()).unwrap().mime_type, "image/jpeg");
        for wrong in ["empty.png", "missing.png", "a.txt", "a", "https://example.com/a"] {
            let error = Medium::inspect(wrong, folder.path()).unwrap_err();
            assert_eq!(error.code(), 2, "{error}");
            assert!(error.to_string().starts_with(wrong), "{error}");
        }
    }

    #[test]
    fn parts_of_a_key_are_separated() {
        assert_ne!(derive_key(&["ab", "c"]).unwrap(), derive_key(&["a", "bc"]).unwrap());
        assert_eq!(derive_key(&["ab", "c"]).unwrap(), derive_key(&["ab", "c"]).unwrap());
    }
}
