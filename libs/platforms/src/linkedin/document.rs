//! A document, uploaded as a whole and then processed. Source: `shares/documents-api`.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;

use super::api::Api;
use super::errors::for_file;
use crate::kit::{Auth, CallError, ErrorKind, File, UploadState, UploadStep};
use crate::publish_request::PublishRequest;

/// For up to 100 MB.
const UPLOAD: Duration = Duration::from_secs(34);

/// LinkedIn documents no limit. Its website cuts longer titles in the feed.
pub(super) const MAX_TITLE: usize = 100;

#[derive(Deserialize)]
struct Status {
    status: String,
}

pub(super) async fn upload(
    api: &Api,
    request: &PublishRequest<'_>,
    file: &File<'_>,
) -> Result<UploadStep<String>, CallError> {
    let contents = (file.size_bytes(), file.open(request).await?);
    let owner = &request.profile.account_id;
    let urn = api.upload_whole(Auth::post(request), owner, "documents", contents, UPLOAD).await?;
    Ok(UploadStep::Processing(UploadState::new(urn), None))
}

pub(super) async fn status(
    api: &Api,
    request: &PublishRequest<'_>,
    state: &UploadState,
) -> Result<UploadStep<String>, CallError> {
    let call = api.file(Auth::post(request), &request.profile.account_id, "documents", &state.id);
    let status = match call.read::<Status>().await {
        Ok(Status { status }) => status,
        // Some tokens may upload documents and not read them, as it is documented for images. Then the
        // publish call reports a document that is not ready.
        Err(error) if is_denied(&error) => return Ok(UploadStep::Uploaded(state.id.clone())),
        Err(error) => return Err(for_file(error)),
    };
    Ok(match status.as_str() {
        "AVAILABLE" => UploadStep::Uploaded(state.id.clone()),
        "PROCESSING_FAILED" => UploadStep::Refused(
            "LinkedIn could not process the document; export it as a PDF again and upload the new file".to_owned(),
        ),
        _ => UploadStep::Processing(state.clone(), None),
    })
}

fn is_denied(error: &CallError) -> bool {
    error.is_status(StatusCode::FORBIDDEN) && error.kind != ErrorKind::Intermediary
}

/// The title that is shown: the option, or the first line of the text, shortened.
pub(super) fn title(option: Option<&str>, text: &str) -> String {
    let first_line = || text.lines().map(str::trim).find(|it| !it.is_empty());
    let title = option.or_else(first_line).unwrap_or("Document");
    if title.chars().count() <= MAX_TITLE {
        return title.to_owned();
    }
    let start: String = title.chars().take(MAX_TITLE - 1).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_the_option_or_the_first_line_shortened() {
        assert_eq!(title(Some("Plan"), "Our plan\nfor spring"), "Plan");
        assert_eq!(title(None, "\n  Our plan \r\nfor spring"), "Our plan");
        assert_eq!(title(None, " "), "Document");
        assert_eq!(title(None, &"é".repeat(100)), "é".repeat(100));
        assert_eq!(title(None, &"é".repeat(101)), format!("{}…", "é".repeat(99)));
        assert_eq!(title(None, &"word ".repeat(30)), format!("{}…", "word ".repeat(20).trim_end()));
    }
}
