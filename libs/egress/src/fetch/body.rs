use bytes::Bytes;
use futures::Stream;
use futures::stream::try_unfold;
use reqwest::Response;

use super::FetchError;
use super::deadline::Deadline;

/// A file that is being fetched. After an error, discard the bytes that were already read.
#[derive(Debug)]
pub struct FetchedBody {
    response: Response,
    max_bytes: u64,
    read_bytes: u64,
    deadline: Deadline,
}

impl FetchedBody {
    pub(super) fn new(response: Response, max_bytes: u64, deadline: Deadline) -> Result<Self, FetchError> {
        if response.content_length().is_some_and(|it| max_bytes < it) {
            return Err(FetchError::TooLarge { max_bytes });
        }
        Ok(Self { response, max_bytes, read_bytes: 0, deadline })
    }

    /// `None` at the end of the file.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, FetchError> {
        let next = async { self.response.chunk().await.map_err(FetchError::from_client) };
        let Some(chunk) = self.deadline.within(next).await? else {
            return Ok(None);
        };
        // A server need not announce the size, so received bytes are counted.
        self.read_bytes += chunk.len() as u64;
        if self.max_bytes < self.read_bytes {
            return Err(FetchError::TooLarge { max_bytes: self.max_bytes });
        }
        Ok(Some(chunk))
    }

    /// The stream ends after an error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, FetchError>> + Send + 'static {
        try_unfold(self, |mut body| async move { Ok(body.chunk().await?.map(|it| (it, body))) })
    }
}
