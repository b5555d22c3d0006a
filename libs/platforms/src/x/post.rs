use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{COMMUNITY, MADE_WITH_AI, PAID_PARTNERSHIP, POLL_DURATION, POLL_OPTIONS, QUOTE_URL, REPLY_SETTINGS, is_id};
use crate::kit::{CallError, Prepared};
use crate::publish_request::PublishRequest;

/// The duration of a poll whose post states none, in minutes. X requires one.
const A_DAY: i64 = 24 * 60;

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Media {
    pub(super) id: String,
    /// Its key in posts that show it.
    pub(super) key: Option<String>,
}

/// It does not differ between attempts.
pub(super) fn new_post(request: &PublishRequest<'_>, prepared: &Prepared<'_, Media>) -> Result<Value, CallError> {
    // Always with a text: the backend of X's API rejects a post without one.
    let mut post = json!({ "text": request.text });
    if !prepared.files.is_empty() {
        let ids: Vec<&str> = prepared.files.iter().map(|it| it.uploaded.id.as_str()).collect();
        post["media"] = json!({ "media_ids": ids });
    }
    if let Some(reply_to) = request.reply_to {
        post["reply"] = json!({ "in_reply_to_tweet_id": reply_to.parent.platform_post_id });
    }
    let poll_options = request.options.list(POLL_OPTIONS);
    if !poll_options.is_empty() {
        let minutes = request.options.number(POLL_DURATION).unwrap_or(A_DAY);
        post["poll"] = json!({ "options": poll_options, "duration_minutes": minutes });
    }
    match request.options.text(REPLY_SETTINGS) {
        None | Some("everyone") => {}
        Some("mentioned_users") => post["reply_settings"] = "mentionedUsers".into(),
        Some(other) => post["reply_settings"] = other.into(),
    }
    if let Some(url) = request.options.text(QUOTE_URL) {
        let wrong = || {
            CallError::invalid_post(
                "option quote_url: this is not the link to a post; copy the link of \
                                                the post on X",
            )
        };
        post["quote_tweet_id"] = quoted(url).ok_or_else(wrong)?.into();
    }
    // A reply is where its parent is.
    if let Some(community) = request.options.text(COMMUNITY)
        && request.reply_to.is_none()
    {
        if !is_id(community) {
            let message = "option community: this is not the ID of a community; copy it from the end of the \
                           community's URL";
            return Err(CallError::invalid_post(message));
        }
        post["community_id"] = community.into();
    }
    for name in [MADE_WITH_AI, PAID_PARTNERSHIP] {
        if request.options.flag(name) == Some(true) {
            post[name] = true.into();
        }
    }
    Ok(post)
}

/// The id in the URL of a post: `…/{name}/status/{id}`.
pub(super) fn quoted(url: &str) -> Option<&str> {
    let path = url.split(['?', '#']).next()?.trim_end_matches('/');
    let (before, id) = path.rsplit_once('/')?;
    let is_post = before.ends_with("/status") && before.matches('/').count() == 4;
    (is_post && is_id(id)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn post_id_is_parsed_from_its_url() {
        for url in [
            "https://x.com/XDevelopers/status/1460323737035677698",
            "https://twitter.com/a/status/1460323737035677698/?s=20",
        ] {
            assert_eq!(quoted(url), Some("1460323737035677698"), "{url}");
        }
        for url in [
            "https://x.com/XDevelopers",
            "https://x.com/a/status/12x",
            "https://x.com/a/b/status/12",
            "https://x.com/status/1",
        ] {
            assert_eq!(quoted(url), None, "{url}");
        }
    }
}
