//! Pictures and videos on their way to the service.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{Client, CreateMedium, Error, IdempotencyKey, MediumView, NewPost, NewPostMedia, PresignedUpload};
use futures::stream;
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};

use crate::error::CliError;
use crate::output::{is_watched, notice, plain};

/// How much of a file is read at a time.
const CHUNK: usize = 64 * 1024;

/// How often an upload is tried.
const TRIES: u32 = 4;

/// A file that is to be uploaded, or fetched by the service.
#[derive(Clone, Debug)]
pub(crate) struct Medium {
    /// As it was written.
    said: String,
    mime_type: &'static str,
    from: From,
}

#[derive(Clone, Debug)]
enum From {
    Url,
    /// A file with its size in bytes, and a hash of them.
    Here {
        path: PathBuf,
        size: u64,
        hash: String,
    },
}

impl Medium {
    /// Looks at a file; its path counts from `folder`.
    pub(crate) fn look(said: &str, folder: &Path) -> Result<Self, CliError> {
        let wrong = |why: &dyn std::fmt::Display| CliError::Usage(format!("{}: {why}", plain(said)));
        let is_url = said.starts_with("https://") || said.starts_with("http://");
        let named = if is_url { said.split(['?', '#']).next().unwrap_or(said) } else { said };
        let known = "it is no .jpg, .png, .gif, .webp, .mp4 or .mov";
        let mime_type = mime_type(Path::new(named)).ok_or_else(|| wrong(&known))?;
        if is_url {
            return Ok(Self { said: said.to_owned(), mime_type, from: From::Url });
        }
        let path = folder.join(said);
        let (size, hash) = weigh(&path).map_err(|it| wrong(&it))?;
        if size == 0 {
            return Err(wrong(&"it is empty"));
        }
        Ok(Self { said: said.to_owned(), mime_type, from: From::Here { path, size, hash } })
    }

    /// Has it uploaded or fetched; gives the path by which a post names it. The
    /// same file under the same key has the same path for a day.
    pub(crate) async fn send(&self, client: &Client, key: &str) -> Result<String, CliError> {
        let From::Here { path, size, hash } = &self.from else {
            let url = Some(self.said.clone());
            let medium =
                CreateMedium { mime_type: self.mime_type.to_owned(), source_url: url, ..CreateMedium::default() };
            let answer =
                client.create_medium(&medium, Some(&derived(&[key, &self.said])?)).await.map_err(not_posted)?;
            return Ok(answer.path().to_owned());
        };
        let medium =
            CreateMedium { mime_type: self.mime_type.to_owned(), size: Some(*size), ..CreateMedium::default() };
        for again in ["", "again"] {
            let answer =
                client.create_medium(&medium, Some(&derived(&[key, hash, again])?)).await.map_err(not_posted)?;
            let MediumView::Presigned(target) = &answer.value else {
                return Err(CliError::Failed("the service does not say where to upload to".to_owned()));
            };
            match self.put(client, target, path, *size).await {
                // A target of hours ago takes nothing any more. Where it did, the file keeps its
                // path, for a post under the same key has to say the same.
                Err(Error::Refused(_)) if answer.replayed && again.is_empty() => {
                    if is_there(client, &target.path).await? {
                        return Ok(target.path.clone());
                    }
                }
                ended => return ended.map(|()| target.path.clone()).map_err(not_posted),
            }
        }
        Err(CliError::Failed(format!("{}: the upload was refused", plain(&self.said))))
    }

    async fn put(&self, client: &Client, target: &PresignedUpload, path: &Path, size: u64) -> Result<(), Error> {
        let bar = bar(&self.said, size);
        let mut tried = 1;
        loop {
            bar.set_position(0);
            let file = File::open(path).map_err(|it| Error::Unreachable(it.to_string()))?;
            let ended = client.upload(target, body(file, bar.clone()), size).await;
            match ended {
                Err(Error::Unreachable(why)) if tried < TRIES => {
                    notice(&format!("{}: {why}; trying again", plain(&self.said)));
                    tokio::time::sleep(Duration::from_secs(u64::from(tried))).await;
                    tried += 1;
                }
                ended => {
                    bar.finish_and_clear();
                    return ended;
                }
            }
        }
    }
}

/// Whether the service has a file: what it says of a post with it, which it does not keep.
async fn is_there(client: &Client, path: &str) -> Result<bool, CliError> {
    let media = Some(vec![NewPostMedia::Path(path.to_owned())]);
    let post = NewPost { content: "-".to_owned(), media, ..NewPost::default() };
    match client.validate_post(&post).await {
        Ok(_) => Ok(true),
        // Without an account it is refused in any case.
        Err(Error::Refused(refusal)) if refusal.status == 422 => {
            Ok(!refusal.errors.keys().any(|it| it.starts_with("media")))
        }
        Err(error) => Err(not_posted(error)),
    }
}

/// What a file failed on. Whether it arrived may not be known; that there is no post is.
fn not_posted(error: Error) -> CliError {
    match error {
        Error::Unknown(why) | Error::Unreadable(why) => CliError::Failed(why),
        error => error.into(),
    }
}

/// The key of a request that belongs to another one.
fn derived(parts: &[&str]) -> Result<IdempotencyKey, CliError> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    IdempotencyKey::parse(hex(&hash.finalize())).map_err(|it| CliError::Failed(it.to_string()))
}

/// Bytes as lower-case letters and digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|it| [it >> 4, it & 15]);
    digits.filter_map(|it| char::from_digit(it.into(), 16)).collect()
}

/// The size of a file, and a hash of what is in it.
fn weigh(path: &Path) -> std::io::Result<(u64, String)> {
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

/// The bytes of a file, read while they are sent.
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

/// A bar for whoever looks.
fn bar(name: &str, size: u64) -> ProgressBar {
    if !is_watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(size).with_message(plain(name));
    // The words of the template are ours; if they were wrong, the plain bar is shown.
    match ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {eta}") {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

fn mime_type(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()?.to_lowercase().as_str() {
        "jpg" | "jpeg" => Some("image/jpeg"),
        "png" => Some("image/png"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        "mp4" | "m4v" => Some("video/mp4"),
        "mov" | "qt" => Some("video/quicktime"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::*;

    #[test]
    fn a_file_is_looked_at_before_anything_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.PNG"), "picture").unwrap();
        std::fs::write(folder.path().join("empty.png"), "").unwrap();

        let medium = Medium::look("a.PNG", folder.path()).unwrap();
        assert_eq!(medium.mime_type, "image/png");
        assert!(matches!(medium.from, From::Here { size: 7, .. }));
        assert_eq!(Medium::look("https://example.com/a.jpg?b=c.d", folder.path()).unwrap().mime_type, "image/jpeg");
        for wrong in ["empty.png", "missing.png", "a.txt", "a", "https://example.com/a"] {
            let told = Medium::look(wrong, folder.path()).unwrap_err();
            assert_eq!(told.code(), 2, "{told}");
            assert!(told.to_string().starts_with(wrong), "{told}");
        }
    }

    #[test]
    fn parts_of_a_key_do_not_run_into_each_other() {
        assert_ne!(derived(&["ab", "c"]).unwrap(), derived(&["a", "bc"]).unwrap());
        assert_eq!(derived(&["ab", "c"]).unwrap(), derived(&["ab", "c"]).unwrap());
    }
}
