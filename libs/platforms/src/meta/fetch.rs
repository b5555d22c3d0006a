//! Files that Meta fetches.
//!
//! That Meta cannot fetch a file is the most frequent error of its platforms. This service reads
//! each file first, at the same public URL: what it cannot read there, Meta cannot read either.

use std::time::Duration;

use domain::delivery::AttemptError;
use domain::media::Attachment;
use http::{Method, StatusCode, header};
use url::Url;

use crate::http_clients::HttpClients;
use crate::publish_request::PublishRequest;
use crate::transport_error::TransportError;

const LOOK: Duration = Duration::from_secs(10);

/// A public URL that this service has just read successfully.
pub(super) async fn address(
    http: &HttpClients,
    request: &PublishRequest<'_>,
    file: &Attachment,
) -> Result<String, AttemptError> {
    let url = request.files.public_url(file).await;
    let url = url.map_err(|it| retry_later(format!("{}: the file has no public URL: {it}", request.place(file))))?;
    checked(http, request, file, url).await
}

/// The URL, once it was read from here.
pub(super) async fn checked(
    http: &HttpClients,
    request: &PublishRequest<'_>,
    file: &Attachment,
    url: String,
) -> Result<String, AttemptError> {
    check_readable(http, &url).await.map_err(|reason| {
        retry_later(format!(
            "{}: this service cannot read the file at its public URL on {} ({reason}), so no platform can fetch it. Ask \
             your operator to check that this host is reachable from the Internet and serves the files",
            request.place(file),
            host(&url)
        ))
    })?;
    Ok(url)
}

pub(super) fn fetch_failed_message(
    request: &PublishRequest<'_>,
    file: &Attachment,
    title: &str,
    reason: &str,
) -> String {
    let label = request.place(file);
    format!(
        "{label}: {title} could not fetch the file ({reason}), although this service could read it. {title} refuses some \
         hosts, such as tunnels and object storage; a firewall or a robots.txt may also block it. Ask your operator to \
         check the public URL of the files"
    )
}

async fn check_readable(http: &HttpClients, url: &str) -> Result<(), String> {
    let request = http.request_known_host(Method::GET, url).map_err(|it| it.to_string())?;
    let request = request.header(header::RANGE, "bytes=0-0").timeout(LOOK);
    let response = request.send().await.map_err(|it| TransportError::from(it).message("the host of the file"))?;
    match response.status() {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(()),
        other => Err(format!("it returned {other}")),
    }
}

/// The rest of the URL opens the file, so no message has it.
fn host(url: &str) -> String {
    Url::parse(url).ok().and_then(|it| it.host_str().map(str::to_owned)).unwrap_or_default()
}

fn retry_later(reason: String) -> AttemptError {
    AttemptError::RetryLater { retry_at: None, reason }
}

#[cfg(test)]
mod tests;
