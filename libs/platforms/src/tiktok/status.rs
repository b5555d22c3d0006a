//! The outcome of a post by its `publish_id`.

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{Published, Resolution};
use serde::Deserialize;
use serde_json::Value;

use crate::response;

#[derive(Deserialize)]
pub(super) struct Status {
    #[serde(rename = "status")]
    state: String,
    fail_reason: Option<String>,
    /// Of a video. Not in every response.
    pub(super) uploaded_bytes: Option<u64>,
    /// Only of public posts, once TikTok has moderated them. Numbers, or texts in some responses.
    #[serde(rename = "publicaly_available_post_id")]
    post_ids: Option<Vec<Value>>,
}

impl Status {
    /// `awaited_bytes` is the size of a video whose last chunk may not have arrived; `None` if it has. Without a count,
    /// it is not certain that the chunk is missing.
    pub(super) fn resolution(self, publish_id: &str, awaited_bytes: Option<u64>, at: DateTime<Utc>) -> Resolution {
        match self.state.as_str() {
            "PUBLISH_COMPLETE" => {
                let id = self.post_ids.and_then(|it| it.into_iter().next());
                let id = id.map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
                Resolution::Found(Published::new(id.filter(|it| is_post_id(it)).as_deref().unwrap_or(publish_id), at))
            }
            "SEND_TO_USER_INBOX" => Resolution::Found(Published::new(publish_id, at).handed_over()),
            "FAILED" => failed(self.fail_reason.as_deref().unwrap_or_default()),
            "PROCESSING_UPLOAD" if awaited_bytes.is_some() && self.uploaded_bytes.is_none() => Resolution::NotFound,
            "PROCESSING_UPLOAD" if awaited_bytes.is_some_and(|it| self.uploaded_bytes < Some(it)) => {
                Resolution::NotPublished
            }
            _ => Resolution::Pending { reason: "TikTok is processing the post".to_owned() },
        }
    }
}

/// A failed post does not exist, and will not. Where another attempt may end in another way, it is prepared again.
fn failed(reason: &str) -> Resolution {
    let reason = match reason {
        // After the last two, the next call waits for the connection, or for the end of the limit.
        "internal" | "video_pull_failed" | "photo_pull_failed" | "auth_removed" | "spam_risk_too_many_posts" => {
            return Resolution::NotPublished;
        }
        "file_format_check_failed" => "TikTok cannot read the file: use MP4 or MOV with H.264, or a JPEG".to_owned(),
        "duration_check_failed" => "the video is too short or too long for TikTok".to_owned(),
        "frame_rate_check_failed" => "TikTok accepts 23 to 60 frames per second".to_owned(),
        "picture_size_check_failed" => "the video or a photo has too few or too many pixels".to_owned(),
        "publish_cancelled" => "the post was cancelled on TikTok".to_owned(),
        "spam_risk" | "spam_risk_text" => "TikTok regards the post or its text as spam".to_owned(),
        "spam_risk_user_banned_from_posting" => "TikTok does not permit this account to post".to_owned(),
        "" => "TikTok refused the post without a reason".to_owned(),
        other => format!("TikTok reports {}", response::shown(other)),
    };
    Resolution::Refused { reason }
}

/// The public post, or the profile as long as TikTok names no post. `folder` is `video` or `photo`.
pub(super) fn url(published: &Published, profile: &AccountInfo, folder: &str) -> Option<String> {
    let (profile_url, id) = (profile.profile_url.as_ref()?, &published.platform_post_id);
    let url = if is_post_id(id) { format!("{profile_url}/{folder}/{id}") } else { profile_url.clone() };
    (!published.handed_over).then_some(url)
}

fn is_post_id(it: &str) -> bool {
    (1..=20).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_connection, a_user, noon};

    use super::*;

    fn resolution(status: &str, awaited_bytes: Option<u64>) -> Resolution {
        serde_json::from_str::<Status>(status).unwrap().resolution("v_pub~1", awaited_bytes, noon())
    }

    #[test]
    fn status_shows_the_outcome() {
        let found = |id: &str| Resolution::Found(Published::new(id, noon()));
        let handed_over = Resolution::Found(Published::new("v_pub~1", noon()).handed_over());
        let pending = || Resolution::Pending { reason: "TikTok is processing the post".to_owned() };
        let uploading = r#"{"status":"PROCESSING_UPLOAD","uploaded_bytes":9}"#;
        let complete = |ids| format!(r#"{{"status":"PUBLISH_COMPLETE","publicaly_available_post_id":[{ids}]}}"#);
        for (status, awaited_bytes, expected) in [
            (uploading, Some(10), Resolution::NotPublished),
            (uploading, Some(9), pending()),
            (uploading, None, pending()),
            (r#"{"status":"PROCESSING_UPLOAD","fail_reason":null}"#, Some(10), Resolution::NotFound),
            (r#"{"status":"PROCESSING_UPLOAD"}"#, None, pending()),
            (r#"{"status":"PROCESSING_DOWNLOAD"}"#, None, pending()),
            (&complete("7530000000000000001"), None, found("7530000000000000001")),
            (&complete(r#""75""#), None, found("75")),
            (&complete(""), None, found("v_pub~1")),
            (r#"{"status":"SEND_TO_USER_INBOX"}"#, None, handed_over),
        ] {
            assert_eq!(resolution(status, awaited_bytes), expected, "{status}");
        }
    }

    #[test]
    fn failed_post_is_refused_or_prepared_again() {
        for (reason, expected) in [
            ("internal", None),
            ("photo_pull_failed", None),
            ("auth_removed", None),
            ("spam_risk_too_many_posts", None),
            ("duration_check_failed", Some("the video is too short or too long for TikTok")),
            ("something_new", Some("TikTok reports something_new")),
        ] {
            let failed = resolution(&format!(r#"{{"status":"FAILED","fail_reason":"{reason}"}}"#), Some(10));
            let refused = |reason: &str| Resolution::Refused { reason: reason.to_owned() };
            assert_eq!(failed, expected.map_or(Resolution::NotPublished, refused), "{reason}");
        }
    }

    #[test]
    fn post_without_an_id_has_the_url_of_the_profile() {
        let boats = "https://www.tiktok.com/@boats";
        let profile = AccountInfo { profile_url: Some(boats.to_owned()), ..a_connection(&a_user()).profile };
        let url = |id: &str| url(&Published::new(id, noon()), &profile, "photo").unwrap();
        assert_eq!(url("75"), format!("{boats}/photo/75"));
        assert_eq!(url("v_pub~1"), boats);
    }
}
