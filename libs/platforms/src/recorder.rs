//! Records the responses that servers give to the calls of adapters.

#![allow(clippy::unwrap_used, reason = "only tests record")]

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use reqwest::{RequestBuilder, Response, ResponseBuilderExt};
use url::Url;

tokio::task_local! {
    /// Of the task that calls an adapter. Adapters start no tasks of their own.
    static RECORDER: Recorder;
}

/// The exchanges of one or more tasks, in order.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Exchange>>>);

/// A call and its response as they were sent, with tokens and posts. It does not print.
#[derive(Clone)]
pub struct Exchange {
    /// Of the call.
    pub method: Method,
    /// Of the call.
    pub url: Url,
    /// Of the response.
    pub status: StatusCode,
    /// Of the response.
    pub headers: HeaderMap,
    /// Of the response.
    pub body: Bytes,
}

impl Recorder {
    /// Runs a task, and records the calls that adapters make in it.
    pub async fn record<T>(&self, task: impl Future<Output = T>) -> T {
        RECORDER.scope(self.clone(), task).await
    }

    /// Everything recorded so far.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.0.lock().unwrap().clone()
    }
}

/// Sends a request, and records the response where the task has a recorder. Then the body is read to its end before the
/// adapter gets any of it.
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
