use std::time::Duration;

use reqwest::{Response, StatusCode};
use tokio::time::timeout;

use crate::error::chain;
use crate::upload::refusal;
use crate::{Client, Error};

/// The longest wait for the first bytes and between two parts of a file.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct Download(Response);

impl Client {
    /// Opens a link to a file. The request has no token: the link grants access, and may lead to another host.
    pub async fn download(&self, link: &str) -> Result<Download, Error> {
        let response = in_time(self.http.get(link).send()).await?;
        if response.status() == StatusCode::OK { Ok(Download(response)) } else { Err(refusal(response).await) }
    }
}

impl Download {
    /// In bytes; `None` if the server does not state it.
    pub fn size(&self) -> Option<u64> {
        self.0.content_length()
    }

    /// `None` at the end. A file that ends before its stated size is an error.
    pub async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Error> {
        in_time(self.0.chunk()).await
    }
}

async fn in_time<T>(reading: impl Future<Output = reqwest::Result<T>>) -> Result<T, Error> {
    match timeout(READ_TIMEOUT, reading).await {
        Ok(read) => read.map_err(|error| Error::Unreachable(chain(error))),
        Err(_) => Err(Error::Unreachable("the server sent nothing for a minute".to_owned())),
    }
}
