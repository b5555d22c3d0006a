//! Public files, for platforms that fetch them.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use domain::media::{FileType, MimeType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(super) struct PublicFiles {
    address: SocketAddr,
    files: Arc<Mutex<Vec<(MimeType, Bytes)>>>,
}

impl PublicFiles {
    /// An empty server on this port; 0 takes a free one.
    pub(super) async fn start(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let files = Arc::<Mutex<Vec<(MimeType, Bytes)>>>::default();
        let served = Arc::clone(&files);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that disconnects is not an error.
                tokio::spawn(respond(stream, Arc::clone(&served)));
            }
        });
        Self { address, files }
    }

    /// The URL of a file: at this public URL, or only on this machine.
    pub(super) fn add(&self, url: Option<&str>, mime_type: MimeType, bytes: impl Into<Bytes>) -> String {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.push((mime_type, bytes.into()));
        let number = files.len() - 1;
        let base_url = url.map_or_else(|| format!("http://{}", self.address), |it| it.trim_end_matches('/').to_owned());
        match mime_type.file_type() {
            FileType::Image => format!("{base_url}/files/{number}.{}", mime_type.extension()),
            // Without CloudFront in front of the service, the bucket serves videos.
            FileType::Video | FileType::Document => format!("{base_url}/{number}?X-Amz-Signature=anybody"),
        }
    }
}

async fn respond(mut stream: TcpStream, files: Arc<Mutex<Vec<(MimeType, Bytes)>>>) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && request.len() < 16_384 {
        request.push(stream.read_u8().await?);
    }
    let request = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let path = request.strip_prefix("get /").map(|it| it.strip_prefix("files/").unwrap_or(it));
    let number = path.and_then(|it| it.split(['.', '?', ' ']).next()?.parse::<usize>().ok());
    let file = number.and_then(|it| files.lock().unwrap_or_else(PoisonError::into_inner).get(it).cloned());
    let Some((mime_type, bytes)) = file else {
        return stream.write_all(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await;
    };
    // The only range that is requested.
    let is_first_byte = request.contains("\r\nrange: bytes=0-0\r\n");
    let (status, bytes) = if is_first_byte { ("206 Partial Content", bytes.slice(..1)) } else { ("200 OK", bytes) };
    let (content_type, length) = (mime_type.as_str(), bytes.len());
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&bytes).await
}
