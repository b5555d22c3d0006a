//! A bucket for tests, on an in-process S3 server; the configuration of clients of fakes; and the log of a test.

mod log_lines;

use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_s3::config::{Credentials, SharedCredentialsProvider};
use hyper_util::rt::{TokioExecutor, TokioIo};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;

pub use self::log_lines::LogLines;
use crate::bucket::{Bucket, BucketConfig};
use crate::sdk_http;

/// For SDK clients whose service is at this URL. Nothing is retried.
pub fn sdk_config(endpoint: &str) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("test", "test", None, None, "test")))
        .http_client(sdk_http::http_client())
        .retry_config(RetryConfig::disabled())
        .endpoint_url(endpoint)
        .build()
}

#[derive(Debug)]
pub struct TestBucket {
    pub bucket: Bucket,
    /// Removed with this value.
    pub folder: TempDir,
    pub endpoint: String,
}

impl TestBucket {
    /// Starts an empty bucket. It runs until the runtime ends.
    ///
    /// # Panics
    /// If there is no temporary folder or no free port.
    #[expect(clippy::expect_used, reason = "only tests call it")]
    pub async fn start() -> Self {
        let folder = TempDir::new().expect("a folder");
        std::fs::create_dir(folder.path().join(NAME)).expect("a folder for the bucket");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));

        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).expect("a store of files"));
        service.set_auth(SimpleAuth::from_single("test", "test"));
        tokio::spawn(serve(listener, service.build()));

        let config = BucketConfig { name: NAME.to_owned(), endpoint: Some(endpoint.clone()), public_endpoint: None };
        Self { bucket: Bucket::new(&sdk_config(&endpoint), &config), folder, endpoint }
    }

    /// The files of the store: objects, and parts of unfinished uploads.
    ///
    /// # Panics
    /// If the folder cannot be read.
    #[expect(clippy::expect_used, reason = "only tests call it")]
    pub fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.folder.path()).expect("a file of this folder");
                    files.push(name.to_string_lossy().into_owned());
                }
            }
        }
        files.sort();
        files
    }
}

const NAME: &str = "media";

async fn serve(listener: TcpListener, service: s3s::service::S3Service) {
    while let Ok((stream, _)) = listener.accept().await {
        let service = service.clone();
        tokio::spawn(async move {
            let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
