//! A post as it is sent.

use domain::delivery::Setback;
use serde_json::{Value, json};

use super::preparation::Progress;
use super::{COMMUNITY, MADE_WITH_AI, PAID_PARTNERSHIP, POLL_DURATION, POLL_OPTIONS, QUOTE_URL, REPLY_SETTINGS, api};
use crate::job::Job;

/// How long a poll is open whose post does not say it, in minutes. X wants to be told.
const A_DAY: i64 = 24 * 60;

/// A post, with the files that were uploaded for it: the same in every attempt.
pub(super) fn of(job: &Job<'_>, progress: &Progress) -> Result<Value, Setback> {
    if progress.files.len() != job.media.len() {
        return Err(Setback::Stale { reason: "not every file is uploaded".to_owned() });
    }
    // Always with a text: what is behind X's API rejects a post without one.
    let mut post = json!({ "text": job.text });
    if !progress.files.is_empty() {
        let ids: Vec<&str> = progress.files.iter().map(|it| it.id.as_str()).collect();
        post["media"] = json!({ "media_ids": ids });
    }
    let answers = job.options.list(POLL_OPTIONS);
    if !answers.is_empty() {
        let minutes = job.options.number(POLL_DURATION).unwrap_or(A_DAY);
        post["poll"] = json!({ "options": answers, "duration_minutes": minutes });
    }
    match job.options.text(REPLY_SETTINGS) {
        None | Some("everyone") => {}
        Some("mentioned_users") => post["reply_settings"] = "mentionedUsers".into(),
        Some(other) => post["reply_settings"] = other.into(),
    }
    if let Some(url) = job.options.text(QUOTE_URL) {
        let wrong = || Setback::Refused { reason: "option quote_url: it is not the address of a post".to_owned() };
        post["quote_tweet_id"] = quoted(url).ok_or_else(wrong)?.into();
    }
    if let Some(community) = job.options.text(COMMUNITY) {
        if !api::is_id(community) {
            let reason = "option community: give the number at the end of the community's address".to_owned();
            return Err(Setback::Refused { reason });
        }
        post["community_id"] = community.into();
    }
    for name in [MADE_WITH_AI, PAID_PARTNERSHIP] {
        if job.options.flag(name) == Some(true) {
            post[name] = true.into();
        }
    }
    Ok(post)
}

/// The id of the post with this address: `…/{name}/status/{id}`.
pub(super) fn quoted(url: &str) -> Option<&str> {
    let path = url.split(['?', '#']).next()?.trim_end_matches('/');
    let (before, id) = path.rsplit_once('/')?;
    let is_post = before.ends_with("/status") && before.matches('/').count() == 4;
    (is_post && api::is_id(id)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_is_found_by_its_address() {
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
