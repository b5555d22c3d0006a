//! Files that Meta fetches itself.
//!
//! A file that Meta cannot fetch is the commonest failure of all with its platforms. The
//! service reads each file first, by the same public address: what it cannot read there,
//! Meta cannot either.

use std::time::Duration;

use domain::delivery::AttemptError;
use domain::media::Attachment;
use http::{Method, StatusCode, header};
use url::Url;

use crate::http_clients::HttpClients;
use crate::publish_request::PublishRequest;
use crate::transport_error::TransportError;

/// For the look at the address.
const LOOK: Duration = Duration::from_secs(10);

/// An address under which the service read a file just now.
pub(super) async fn address(
    http: &HttpClients,
    job: &PublishRequest<'_>,
    file: &Attachment,
) -> Result<String, AttemptError> {
    let url = job.files.public_url(file).await;
    let url = url.map_err(|it| busy(format!("{}: the file has no public URL: {it}", job.place(file))))?;
    checked(http, job, file, url).await
}

/// This address of a file, once it was read from here.
pub(super) async fn checked(
    http: &HttpClients,
    job: &PublishRequest<'_>,
    file: &Attachment,
    url: String,
) -> Result<String, AttemptError> {
    look(http, &url).await.map_err(|why| {
        busy(format!(
            "{}: this service cannot read the file at its public URL on {} ({why}), so no platform can fetch it. Ask \
             your operator to check that this host is reachable from the Internet and serves the files",
            job.place(file),
            host(&url)
        ))
    })?;
    Ok(url)
}

/// The message about a file that we could read, and Meta could not.
pub(super) fn not_fetched(job: &PublishRequest<'_>, file: &Attachment, title: &str, said: &str) -> String {
    let place = job.place(file);
    format!(
        "{place}: {title} could not fetch the file ({said}), although this service could read it. {title} refuses some \
         hosts, such as tunnels and object storage; a firewall or a robots.txt may also block it. Ask your operator to \
         check the public URL of the files. The service retries for a day"
    )
}

/// Reads the first byte.
async fn look(http: &HttpClients, url: &str) -> Result<(), String> {
    let request = http.to_known(Method::GET, url).map_err(|it| it.to_string())?;
    let request = request.header(header::RANGE, "bytes=0-0").timeout(LOOK);
    let response = request.send().await.map_err(|it| TransportError::from(it).words("the host of the file"))?;
    match response.status() {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(()),
        other => Err(format!("it answered {other}")),
    }
}

/// The rest of the address opens the file, so it is in no message.
fn host(url: &str) -> String {
    Url::parse(url).ok().and_then(|it| it.host_str().map(str::to_owned)).unwrap_or_default()
}

fn busy(reason: String) -> AttemptError {
    AttemptError::RetryLater { retry_at: None, reason }
}

#[cfg(test)]
mod tests;
