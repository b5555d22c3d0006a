//! Records the responses that servers give to the calls of adapters.

#![allow(clippy::unwrap_used, reason = "only tests record")]

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use reqwest::{RequestBuilder, Response, ResponseBuilderExt};
use url::Url;

tokio::task_local! {
    /// The recorder of the task that calls an adapter. Adapters spawn no tasks.
    static RECORDER: Recorder;
}

#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Exchange>>>);

/// A call and its response, with tokens and posts. Not `Debug`.
#[derive(Clone)]
pub struct Exchange {
    pub method: Method,
    pub url: Url,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Recorder {
    pub async fn record<T>(&self, task: impl Future<Output = T>) -> T {
        RECORDER.scope(self.clone(), task).await
    }

    pub fn exchanges(&self) -> Vec<Exchange> {
        self.0.lock().unwrap().clone()
    }
}

/// Sends a request. If the task has a recorder, the body is read to its end and recorded before the
/// adapter gets it.
pub(crate) async fn send(request: RequestBuilder) -> reqwest::Result<Response> {
    let Ok(recorder) = RECORDER.try_with(Clone::clone) else { return request.send().await };
    let (client, request) = request.build_split();
    let request = request?;
    let (method, url) = (request.method().clone(), request.url().clone());
    let response = client.execute(request).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await?;
    let mut copy = http::Response::builder().status(status).url(url.clone()).body(body.clone()).unwrap();
    copy.headers_mut().clone_from(&headers);
    recorder.0.lock().unwrap().push(Exchange { method, url, status, headers, body });
    Ok(copy.into())
}
