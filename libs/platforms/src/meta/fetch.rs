//! Files that Meta fetches by itself.
//!
//! That it cannot is the commonest failure of all with its platforms. Whether a file can
//! be fetched is looked at first, from here, by the same address: what we cannot read,
//! nobody can.

use std::time::Duration;

use domain::delivery::Setback;
use domain::media::Attachment;
use http::{Method, StatusCode, header};
use url::Url;

use crate::http_clients::HttpClients;
use crate::job::{Job, LONGEST_PUBLIC};
use crate::no_answer::NoAnswer;

/// For the look at the address.
const LOOK: Duration = Duration::from_secs(10);

/// An address under which a file was read from here just now. It lives for
/// [`LONGEST_PUBLIC`].
pub(super) async fn address(http: &HttpClients, job: &Job<'_>, file: &Attachment) -> Result<String, Setback> {
    let url = job.files.public_url(file, LONGEST_PUBLIC).await;
    let url = url.map_err(|it| busy(format!("{}: it has no public address: {it}", job.place(file))))?;
    checked(http, job, file, url).await
}

/// This address of a file, once it was read from here.
pub(super) async fn checked(
    http: &HttpClients,
    job: &Job<'_>,
    file: &Attachment,
    url: String,
) -> Result<String, Setback> {
    look(http, &url).await.map_err(|why| {
        busy(format!(
            "{}: the public address of the file on {} cannot be read by ourselves ({why}), so nobody can fetch it; \
             its operator has to look at the address and the access of the media bucket",
            job.place(file),
            host(&url)
        ))
    })?;
    Ok(url)
}

/// The message about a file that we could read, and Meta could not.
pub(super) fn not_fetched(job: &Job<'_>, file: &Attachment, title: &str, said: &str) -> String {
    let place = job.place(file);
    format!(
        "{place}: {title} could not fetch the file ({said}), although this service could read it. {title} refuses some \
         hosts unseen, such as tunnels and object storage; a firewall or a robots.txt may also keep it out. Your \
         operator should check the address of the files. The service tries again for a day"
    )
}

/// Reads the first byte.
async fn look(http: &HttpClients, url: &str) -> Result<(), String> {
    let request = http.to_known(Method::GET, url).map_err(|it| it.to_string())?;
    let request = request.header(header::RANGE, "bytes=0-0").timeout(LOOK);
    let response = request.send().await.map_err(|it| NoAnswer::from(it).words("the bucket"))?;
    match response.status() {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(()),
        other => Err(format!("it answered {other}")),
    }
}

/// The rest of the address would let whoever reads of it read the file.
fn host(url: &str) -> String {
    Url::parse(url).ok().and_then(|it| it.host_str().map(str::to_owned)).unwrap_or_default()
}

fn busy(reason: String) -> Setback {
    Setback::Busy { retry_at: None, reason }
}

#[cfg(test)]
mod tests;
