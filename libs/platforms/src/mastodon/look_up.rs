//! Whether a status is among those of its account.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Published;
use secrecy::SecretString;

use super::api::{Api, Status};
use super::content;
use super::grant::Grant;
use super::refused::Failure;
use super::software::Software;

/// What a server's clock may differ from ours.
const CLOCKS_DIFFER_BY: TimeDelta = TimeDelta::minutes(5);

/// The most pages that are read: 200 statuses since the public call.
const MAX_PAGES: usize = 5;

/// What the listing shows.
#[derive(Debug)]
pub(super) enum Found {
    /// It is public.
    Public(Published),
    /// Everything since was read, and it is not there.
    NotThere,
    /// It cannot be said now.
    Unclear {
        /// For the user.
        reason: String,
    },
    /// The grant is gone.
    Disconnected {
        /// For the user.
        reason: String,
    },
    /// The grant does not cover reading.
    Forbidden,
}

/// What is looked for.
pub(super) struct Ours<'a> {
    text: String,
    media: &'a [String],
    /// Whether the ids of files tell for certain.
    by_ids: bool,
    not_before: DateTime<Utc>,
}

impl<'a> Ours<'a> {
    /// A status that was made at `since` or later.
    pub(super) fn new(text: &str, media: &'a [String], software: Software, since: DateTime<Utc>) -> Self {
        let by_ids = software.keeps_ids_of_files();
        Self { text: content::of_text(text), media, by_ids, not_before: since - CLOCKS_DIFFER_BY }
    }

    /// Whether this is it. A file is shown by one status only, so its id tells
    /// even when the text was changed since.
    fn is(&self, status: &Status) -> bool {
        if status.is_boost() || status.created_at().is_none_or(|it| it < self.not_before) {
            return false;
        }
        let shown = status.media_ids();
        let same_ids = shown.len() == self.media.len() && self.media.iter().all(|it| shown.contains(&it.as_str()));
        if !self.media.is_empty() && (same_ids || self.by_ids) {
            return same_ids;
        }
        shown.len() == self.media.len() && content::of_html(status.content()) == self.text
    }
}

/// Reads an account's statuses back to before ours could have been made.
pub(super) async fn look_up(
    api: &Api,
    grant: &Grant,
    token: &SecretString,
    account_id: &str,
    ours: &Ours<'_>,
    now: DateTime<Utc>,
) -> Found {
    let unclear = |reason: &str| Found::Unclear { reason: reason.to_owned() };
    let mut before: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let page = match api.statuses(grant, token, account_id, before.as_deref(), now).await {
            Ok(page) => page,
            Err(failure) => return unread(failure),
        };
        if let Some(status) = page.iter().find(|it| ours.is(it)) {
            let at = status.created_at().unwrap_or(now);
            return Found::Public(Published { platform_post_id: status.id.clone(), at });
        }
        let Some(oldest) = page.last() else { return Found::NotThere };
        match oldest.created_at() {
            None => return unclear("a post without a time"),
            Some(at) if at < ours.not_before => return Found::NotThere,
            Some(_) => before = Some(oldest.id.clone()),
        }
    }
    unclear("the account has published too much since")
}

fn unread(failure: Failure) -> Found {
    match failure {
        Failure::Refused(refused) if refused.is_forbidden() => Found::Forbidden,
        Failure::Refused(refused) if refused.is_lost_grant() => Found::Disconnected { reason: refused.reason() },
        failure => Found::Unclear { reason: failure.reason() },
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use serde_json::json;

    use super::*;

    fn status(text: &str, media: &[&str], at: DateTime<Utc>) -> Status {
        let media: Vec<_> = media.iter().map(|id| json!({"id": id, "type": "image"})).collect();
        serde_json::from_value(json!({
            "id": "1", "created_at": at.to_rfc3339(), "content": format!("<p>{text}</p>"), "reblog": null,
            "media_attachments": media,
        }))
        .unwrap()
    }

    fn media(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn a_status_is_known_by_its_files() {
        let media = media(&["7", "8"]);
        let ours = Ours::new("Hello", &media, Software::Mastodon, noon());

        assert!(ours.is(&status("Hello", &["7", "8"], noon())));
        assert!(ours.is(&status("Edited", &["8", "7"], noon())));
        assert!(!ours.is(&status("Hello", &["7", "9"], noon())));
        assert!(!ours.is(&status("Hello", &["7"], noon())));
        assert!(!ours.is(&status("Hello", &[], noon())));
    }

    #[test]
    fn where_ids_are_made_anew_text_and_number_have_to_do() {
        let media = media(&["7"]);
        let ours = Ours::new("Hello", &media, Software::Pleroma, noon());

        assert!(ours.is(&status("Hello", &["-1843"], noon())));
        assert!(!ours.is(&status("Hello", &["1", "2"], noon())));
        assert!(!ours.is(&status("Other", &["-1843"], noon())));
    }

    #[test]
    fn without_files_the_text_and_the_time_tell() {
        let ours = Ours::new("Hello", &[], Software::Mastodon, noon());

        assert!(ours.is(&status("Hello", &[], noon() - CLOCKS_DIFFER_BY)));
        assert!(!ours.is(&status("Hello", &[], noon() - CLOCKS_DIFFER_BY - TimeDelta::seconds(1))));
        assert!(!ours.is(&status("Hello", &["7"], noon())));
        assert!(!ours.is(&status("Hello!", &[], noon())));
    }

    #[test]
    fn what_others_said_is_not_ours() {
        let boost: Status = serde_json::from_value(json!({
            "id": "1", "created_at": noon().to_rfc3339(), "content": "<p>Hello</p>", "reblog": {"id": "2"},
        }))
        .unwrap();
        assert!(!Ours::new("Hello", &[], Software::Mastodon, noon()).is(&boost));
    }
}
