//! Whether a status is among those of its account.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Published;
use secrecy::SecretString;

use super::api::{Api, Page, Status};
use super::content;
use super::grant::Grant;
use super::refused::Failure;
use super::software::Software;
use super::watch::Watch;

/// What a status may seem to be older than the call that made it: the server's
/// clock is known in whole seconds only.
const CLOCKS_DIFFER_BY: TimeDelta = TimeDelta::seconds(2);

/// The same where the server does not say what its clock shows.
const UNTOLD_CLOCKS_DIFFER_BY: TimeDelta = TimeDelta::minutes(1);

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
    software: Software,
    since: DateTime<Utc>,
}

impl<'a> Ours<'a> {
    /// A status that was made at `since` or later, by our clock.
    pub(super) fn new(text: &str, media: &'a [String], software: Software, since: DateTime<Utc>) -> Self {
        Self { text: content::of_text(text), media, software, since }
    }

    /// The earliest that it can have been made by the server's clock, which
    /// shows `server_time` while ours shows `now`.
    fn not_before(&self, server_time: Option<DateTime<Utc>>, now: DateTime<Utc>) -> DateTime<Utc> {
        match server_time {
            Some(server_time) => self.since + (server_time - now) - CLOCKS_DIFFER_BY,
            None => self.since - UNTOLD_CLOCKS_DIFFER_BY,
        }
    }

    /// Whether this is it. A file is shown by one status only, so its id tells
    /// even when the text was changed since.
    fn is(&self, status: &Status, not_before: DateTime<Utc>) -> bool {
        if !status.is_boost() && !self.media.is_empty() {
            let shown = status.media_ids();
            let same_ids = shown.len() == self.media.len() && self.media.iter().all(|it| shown.contains(&it.as_str()));
            if same_ids || self.software.keeps_ids_of_files() {
                return same_ids;
            }
        }
        self.has_its_shape(status, not_before) && content::of_html(status.content()) == self.text
    }

    /// Whether this may be it, edited or in a markup that we do not recognise.
    fn may_be(&self, status: &Status, not_before: DateTime<Utc>) -> bool {
        let ids_tell = !self.media.is_empty() && self.software.keeps_ids_of_files();
        !ids_tell && self.has_its_shape(status, not_before)
    }

    fn has_its_shape(&self, status: &Status, not_before: DateTime<Utc>) -> bool {
        let is_since = status.created_at().is_some_and(|it| not_before <= it);
        is_since && !status.is_boost() && status.media_ids().len() == self.media.len()
    }
}

/// Reads an account's statuses back to before ours could have been made.
pub(super) async fn look_up(
    api: &Api,
    grant: &Grant,
    token: &SecretString,
    account_id: &str,
    ours: &Ours<'_>,
    watch: &Watch,
) -> Found {
    let unclear = |reason: &str| Found::Unclear { reason: reason.to_owned() };
    let mut before: Option<String> = None;
    let mut not_before = None;
    let mut may_be_there = false;
    for _ in 0..MAX_PAGES {
        let Page { statuses, server_time } =
            match api.statuses(grant, token, account_id, before.as_deref(), watch.now()).await {
                Ok(page) => page,
                Err(failure) => return unread(failure),
            };
        let not_before = *not_before.get_or_insert_with(|| ours.not_before(server_time, watch.now()));
        if let Some(status) = statuses.iter().find(|it| ours.is(it, not_before)) {
            let at = status.created_at().unwrap_or_else(|| watch.now());
            return Found::Public(Published { platform_post_id: status.id.clone(), at });
        }
        may_be_there |= statuses.iter().any(|it| ours.may_be(it, not_before));
        let oldest = statuses.last().map(|it| (it.id.clone(), it.created_at()));
        match oldest {
            Some((_, None)) => return unclear("a post without a time"),
            Some((id, Some(at))) if not_before <= at => before = Some(id),
            _ if may_be_there => return unclear("the account has published something since that may be this post"),
            _ => return Found::NotThere,
        }
    }
    unclear("the account has published too much since")
}

fn unread(failure: Failure) -> Found {
    match failure {
        // The grant stands; what is lost with the others is the grant itself.
        Failure::Refused(refused) if refused.is_beyond_the_scopes() => Found::Forbidden,
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

        assert!(ours.is(&status("Hello", &["7", "8"], noon()), noon()));
        assert!(ours.is(&status("Edited", &["8", "7"], noon()), noon()));
        assert!(!ours.is(&status("Hello", &["7", "9"], noon()), noon()));
        assert!(!ours.is(&status("Hello", &["7"], noon()), noon()));
        assert!(!ours.is(&status("Hello", &[], noon()), noon()));
        assert!(!ours.may_be(&status("Hello", &["7", "9"], noon()), noon()));
    }

    #[test]
    fn where_ids_are_made_anew_text_and_number_have_to_do() {
        let media = media(&["7"]);
        let ours = Ours::new("Hello", &media, Software::Pleroma, noon());

        assert!(ours.is(&status("Hello", &["-1843"], noon()), noon()));
        assert!(!ours.is(&status("Hello", &["1", "2"], noon()), noon()));
        assert!(!ours.is(&status("Other", &["-1843"], noon()), noon()));
        assert!(ours.may_be(&status("Other", &["-1843"], noon()), noon()));
        assert!(!ours.may_be(&status("Other", &["1", "2"], noon()), noon()));
    }

    #[test]
    fn what_is_not_recognised_may_be_ours() {
        for software in [Software::Mastodon, Software::GoToSocial, Software::Other] {
            let ours = Ours::new("*Hello*", &[], software, noon());
            assert!(ours.may_be(&status("<em>Hello</em>", &[], noon()), noon()), "{software:?}");
            assert!(!ours.may_be(&status("<em>Hello</em>", &["7"], noon()), noon()));
            assert!(!ours.may_be(&status("Before", &[], noon() - TimeDelta::seconds(1)), noon()));
        }
    }

    #[test]
    fn time_is_told_by_the_servers_clock() {
        let ours = Ours::new("Hello", &[], Software::Mastodon, noon());
        let (now, hour) = (noon() + TimeDelta::seconds(30), TimeDelta::hours(1));

        assert_eq!(ours.not_before(Some(now), now), noon() - CLOCKS_DIFFER_BY);
        assert_eq!(ours.not_before(Some(now - hour), now), noon() - hour - CLOCKS_DIFFER_BY);
        assert_eq!(ours.not_before(Some(now + hour), now), noon() + hour - CLOCKS_DIFFER_BY);
        assert_eq!(ours.not_before(None, now), noon() - UNTOLD_CLOCKS_DIFFER_BY);
    }

    #[test]
    fn without_files_the_text_and_the_time_tell() {
        let ours = Ours::new("Hello", &[], Software::Mastodon, noon());

        assert!(ours.is(&status("Hello", &[], noon()), noon()));
        assert!(!ours.is(&status("Hello", &[], noon() - TimeDelta::seconds(1)), noon()));
        assert!(!ours.is(&status("Hello", &["7"], noon()), noon()));
        assert!(!ours.is(&status("Hello!", &[], noon()), noon()));
    }

    #[test]
    fn what_others_said_is_not_ours() {
        let boost: Status = serde_json::from_value(json!({
            "id": "1", "created_at": noon().to_rfc3339(), "content": "<p>Hello</p>", "reblog": {"id": "2"},
        }))
        .unwrap();
        assert!(!Ours::new("Hello", &[], Software::Mastodon, noon()).is(&boost, noon()));
    }
}
