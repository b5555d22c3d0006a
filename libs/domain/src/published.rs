//! What a platform returns about something that became public.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::web_address::is_web_address;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    pub platform_post_id: String,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The data that a reply to it needs in addition to the id, in the adapter's own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Whether the platform has given it to a person, who finishes it in the platform's app. It is not public yet, and
    /// no call of ours can make it public.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub handed_over: bool,
}

impl Published {
    pub fn new(platform_post_id: impl Into<String>, at: DateTime<Utc>) -> Self {
        Self { platform_post_id: platform_post_id.into(), at, url: None, handle: None, handed_over: false }
    }

    #[must_use]
    pub fn handed_over(self) -> Self {
        Self { handed_over: true, ..self }
    }

    #[must_use]
    pub fn with_handle(self, handle: impl Into<String>) -> Self {
        Self { handle: Some(handle.into()), ..self }
    }

    /// Sets the URL that the platform returned. A value that is not a web address, or is too long,
    /// is dropped.
    #[must_use]
    pub fn with_url(self, url: Option<String>) -> Self {
        Self { url: url.filter(|it| is_web_address(it)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noon;

    #[test]
    fn invalid_url_of_a_post_is_dropped() {
        let url_after_check = |url: &str| Published::new("1", noon()).with_url(Some(url.to_owned())).url;

        assert_eq!(
            url_after_check("https://harbour.example/@boat/1").as_deref(),
            Some("https://harbour.example/@boat/1")
        );
        assert_eq!(url_after_check("javascript:alert(1)"), None);
    }
}
