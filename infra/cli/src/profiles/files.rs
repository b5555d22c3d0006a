use std::fs::{self, File};
use std::io::{self, Write};
use std::iter;
use std::path::Path;
use std::time::Duration;

use client::{Client, Error, Post, PostMedia};
use thiserror::Error;

use crate::error::CliError;
use crate::files::{TRIES, bar, extension};
use crate::output::notice;

pub(super) struct PostFile {
    pub(super) post: u64,
    pub(super) id: u64,
    /// Name in the archive: made of the id and a known extension, never of a text of the service.
    pub(super) name: String,
    /// Expires an hour after the post was read.
    link: String,
}

#[derive(Debug, Error)]
enum DownloadError {
    #[error("{0}")]
    Link(#[from] Error),
    #[error("{0}")]
    Disk(#[from] io::Error),
}

impl PostFile {
    /// Includes the files of replies and of single accounts, with duplicates.
    pub(super) fn all(post: &Post) -> impl Iterator<Item = Self> {
        let id = post.id;
        media(post).map(move |it| {
            let extension = extension(&it.mime_type).map(|it| format!(".{it}")).unwrap_or_default();
            Self { post: id, id: it.id, name: format!("files/{}{extension}", it.id), link: it.url.clone() }
        })
    }

    /// Does nothing if the file is there from an earlier run.
    pub(super) async fn fetch(&self, client: &Client, path: &Path) -> Result<(), CliError> {
        if path.try_exists()? {
            return Ok(());
        }
        let (mut link, mut attempt) = (self.link.clone(), 1);
        loop {
            let error = match download(client, &link, path).await {
                Ok(()) => return Ok(()),
                Err(DownloadError::Disk(error)) => return Err(error.into()),
                Err(DownloadError::Link(error)) => error,
            };
            let why = format!("{} of post {}: {error}", self.name, self.post);
            if attempt == TRIES {
                return Err(CliError::Failed(why));
            }
            // A link that expired needs no wait.
            if matches!(error, Error::Unreachable(_)) {
                notice(&format!("{why}; trying again"));
                tokio::time::sleep(Duration::from_secs(u64::from(attempt))).await;
            }
            attempt += 1;
            let post = client.show_post(self.post).await.map_err(CliError::about("post", self.post))?;
            link = media(&post).find(|it| it.id == self.id).ok_or(CliError::Failed(why))?.url.clone();
        }
    }
}

fn media(post: &Post) -> impl Iterator<Item = &PostMedia> {
    let targets = post.platforms.iter();
    let replies = iter::once(&post.thread).chain(targets.clone().filter_map(|it| it.thread.as_ref())).flatten();
    let of_post = iter::once(&post.media).chain(replies.map(|it| &it.media));
    let of_targets = targets.clone().filter_map(|it| it.media.as_ref());
    of_post.chain(of_targets).chain(targets.flat_map(|it| &it.segments).map(|it| &it.media)).flatten()
}

/// A file that is incomplete never has the name `path`.
async fn download(client: &Client, link: &str, path: &Path) -> Result<(), DownloadError> {
    let mut download = client.download(link).await?;
    let part = path.with_added_extension("part");
    let mut out = File::create(&part)?;
    let bar = bar(&path.file_name().unwrap_or_default().to_string_lossy(), download.size().unwrap_or_default());
    while let Some(bytes) = download.chunk().await? {
        out.write_all(bytes.as_ref())?;
        bar.inc(bytes.as_ref().len() as u64);
    }
    bar.finish_and_clear();
    out.sync_data()?;
    Ok(fs::rename(part, path)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use std::io::Read;
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    use client::BaseUrl;
    use serde_json::json;

    use super::*;

    /// Sends one response for each connection, and returns the requests.
    fn serve(responses: impl Fn(&str) -> Vec<String>) -> (JoinHandle<Vec<String>>, String, Client) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let responses = responses(&origin);
        let server = std::thread::spawn(move || {
            let respond = |response: &String| {
                let (mut stream, mut request) = (listener.accept().unwrap().0, [0; 4096]);
                let read = stream.read(&mut request).unwrap();
                write!(stream, "HTTP/1.1 {response}").unwrap();
                String::from_utf8_lossy(&request[..read]).into_owned()
            };
            responses.iter().map(respond).collect()
        });
        let http = crate::session::http(true).unwrap();
        let client = Client::new(http, BaseUrl::parse(&origin).unwrap(), Some("sp_test".into()));
        (server, origin, client)
    }

    fn ok(size: usize, body: &str) -> String {
        format!("200 OK\r\nconnection: close\r\ncontent-length: {size}\r\n\r\n{body}")
    }

    #[tokio::test]
    async fn truncated_file_is_an_error_and_a_complete_one_gets_its_name() {
        let (server, origin, client) = serve(|_| vec![ok(7, "pic"), ok(7, "picture")]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.png");

        let ended = download(&client, &origin, &path).await;
        assert!(matches!(ended, Err(DownloadError::Link(Error::Unreachable(_)))), "{ended:?}");
        assert!(!path.exists());

        download(&client, &origin, &path).await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"picture");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let requests = server.join().unwrap();
        assert!(!requests.iter().any(|it| it.contains("sp_test")), "the token was sent: {requests:?}");
    }

    #[tokio::test]
    async fn expired_link_is_replaced() {
        let (server, origin, client) = serve(|origin| {
            let file = json!({
                "id": 9, "url": format!("{origin}/new"), "file_type": "image", "mime_type": "image/png", "alt_text": null,
            });
            let post = json!({
                "id": 7, "revision": 1, "content": "a", "status": "draft", "scheduled_at": null,
                "created_at": "2026-11-21T09:30:00.000Z", "updated_at": "2026-11-21T09:30:00.000Z", "profile_id": 1,
                "creator": { "id": 1, "name": "A" }, "platforms": [], "media": [file], "thread": [],
                "external_id": null, "labels": [],
            })
            .to_string();
            let expired = "403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_owned();
            vec![expired, ok(post.len(), &post), ok(7, "picture")]
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("9.png");
        let file = PostFile { post: 7, id: 9, name: "files/9.png".to_owned(), link: format!("{origin}/old") };

        file.fetch(&client, &path).await.unwrap();

        assert_eq!(fs::read(&path).unwrap(), b"picture");
        let requests = server.join().unwrap();
        let paths: Vec<_> = requests.iter().filter_map(|it| it.split(' ').nth(1)).collect();
        assert_eq!(paths, ["/old", "/api/v1/posts/7", "/new"]);
    }
}
