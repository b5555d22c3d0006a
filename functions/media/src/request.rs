//! The request body of `POST /media`.

use api::{ApiResult, RequestBody};
use domain::idempotency::IdempotencyKey;
use domain::media::{Filename, MediaLimits, MimeType, human_size};
use domain::profile::ProfileRef;
use http::HeaderMap;
use url::Url;

/// In Unicode code points.
const MAX_URL_CHARS: usize = 2048;

#[derive(Clone, Debug)]
pub(crate) struct CreateMedium {
    pub(crate) mime_type: MimeType,
    filename: Option<Filename>,
    pub(crate) source_url: Option<Url>,
    /// In bytes, at least 1.
    pub(crate) size: Option<u64>,
    /// The profile of the token.
    pub(crate) of_profile: Option<ProfileRef>,
    /// The storage limit of the profile; `None` for no limit.
    pub(crate) bytes_of_profile: Option<u64>,
}

impl CreateMedium {
    #[cfg(test)]
    pub(crate) fn for_type(mime_type: MimeType) -> Self {
        Self { mime_type, filename: None, source_url: None, size: None, of_profile: None, bytes_of_profile: None }
    }

    /// Reports all errors at once.
    pub(crate) fn parse(
        incoming: RequestBody,
        headers: &HeaderMap,
        limits: &MediaLimits,
    ) -> ApiResult<(Self, Option<IdempotencyKey>)> {
        let mut fields = incoming.fields(&["mime_type", "filename", "source_url", "size"])?;
        let mut mime_type = None;
        if let Some(raw) = fields.required_text("mime_type") {
            mime_type = MimeType::parse(&raw);
            if mime_type.is_none() {
                let known = MimeType::ALL.map(MimeType::as_str).join(", ");
                fields.add("mime_type", format!("must be one of {known}"));
            }
        }
        let mut filename = None;
        if let Some(raw) = fields.text("filename").value() {
            match Filename::parse(&raw) {
                Ok(name) => filename = Some(name),
                Err(error) => fields.add("filename", error),
            }
        }
        let has_source = fields.is_given("source_url");
        let mut source_url = None;
        if let Some(raw) = fields.text("source_url").value() {
            match url(&raw) {
                Ok(url) => source_url = Some(url),
                Err(message) => fields.add("source_url", message),
            }
        }
        let size = fields.integer("size").value();
        if size == Some(0) {
            fields.add("size", "must be at least 1 byte");
        }
        if size.is_some() && has_source {
            fields.add("size", "is only for files that you upload; leave it out when you send source_url");
        } else if let (Some(size), Some(mime_type)) = (size, mime_type) {
            let max_bytes = limits.max_bytes(mime_type, false);
            if max_bytes < size {
                fields.add(
                    "size",
                    format_args!("may be at most {}, this is {}", human_size(max_bytes), human_size(size)),
                );
            }
        }
        let mut key = None;
        match parse_idempotency_key(headers) {
            Ok(found) => key = found,
            Err(message) => fields.add("idempotency-key", message),
        }
        // A placeholder: a missing type is an error already, so the request fails.
        let mime_type = mime_type.unwrap_or(MimeType::Jpeg);
        fields.finish((Self { mime_type, filename, source_url, size, of_profile: None, bytes_of_profile: None }, key))
    }

    /// A hash that differs for another request with the same idempotency key.
    pub(crate) fn hash(&self) -> String {
        let name = self.filename.as_ref().map(Filename::as_str);
        let url = self.source_url.as_ref().map(Url::as_str);
        domain::token::hash(&format!("{:?}", (self.mime_type.as_str(), name, url, self.size)))
    }
}

fn url(raw: &str) -> Result<Url, String> {
    let chars = raw.chars().count();
    if MAX_URL_CHARS < chars {
        return Err(format!("may have at most 2,048 characters; this has {chars}"));
    }
    match Url::parse(raw) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        Ok(_) => Err("must begin with http:// or https://".to_owned()),
        Err(_) => Err("must be a complete URL, such as https://example.com/harbour.png".to_owned()),
    }
}

fn parse_idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, String> {
    let mut values = headers.get_all("idempotency-key").iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err("may be sent only once".to_owned()),
        (Some(value), None) => match IdempotencyKey::parse(value.as_bytes()) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(error.to_string()),
        },
    }
}
