//! What became of a public call whose answer was lost.
//!
//! Facts: an account's own posts can be read with the files that they show, by their
//! keys; every link is written `https://t.co/…`, with the address that it stands for
//! beside it, and `&`, `<` and `>` are escaped. Reads are paid by the post.

use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Profile;
use domain::delivery::{Published, Resolution};

use super::api::{Api, Entities, Post};
use super::preparation::Progress;
use crate::job::Job;
use crate::kit::{Auth, CallError};
use crate::recognition::{self, Found, Likeness, Listed, Timeline};

/// How far X's clock may be behind ours.
const CLOCKS: TimeDelta = TimeDelta::minutes(1);

impl Listed for Post {
    fn id(&self) -> &str {
        &self.id
    }

    fn at(&self) -> Option<DateTime<Utc>> {
        self.created_at
    }

    fn url(&self) -> Option<String> {
        Some(format!("https://x.com/i/web/status/{}", self.id))
    }
}

impl Post {
    /// The text as it was sent.
    fn words(&self) -> String {
        match &self.note_tweet {
            Some(note) => as_sent(&note.text, &note.entities),
            None => as_sent(&self.text, &self.entities),
        }
    }
}

/// What an account has posted since a call.
struct Posts<'a> {
    api: &'a Api,
    job: &'a Job<'a>,
    progress: &'a Progress,
    since: DateTime<Utc>,
    /// Whether one of them may be ours.
    has_doubtful: AtomicBool,
}

#[async_trait::async_trait]
impl Timeline for Posts<'_> {
    type Post = Post;
    type Failure = CallError;

    /// One page has all that was posted since, but for accounts that post without a pause.
    async fn page(&self, after: Option<&str>) -> Result<Vec<Post>, CallError> {
        match after {
            Some(_) => Ok(Vec::new()),
            None => self.api.posts_since(Auth::post(self.job), &self.job.profile.account_id, self.since).await,
        }
    }

    /// A file that we uploaded is in no other post. Nor are the words of one without
    /// files: X takes them once in a while, so that it is ours, or the account's owner
    /// wrote the very same, and X refused ours.
    fn likeness(&self, post: &Post) -> Option<Likeness> {
        let theirs = &post.attachments.media_keys;
        let ours: Vec<&str> = self.progress.files.iter().filter_map(|it| it.key.as_deref()).collect();
        if !ours.is_empty() && *theirs == ours {
            return Some(Likeness::It);
        }
        let is_the_same = post.words() == self.job.text.trim() && theirs.len() == self.progress.files.len();
        Some(match (is_the_same, self.progress.files.is_empty()) {
            (true, true) => Likeness::It,
            // Should X name files anew.
            (true, false) => {
                self.has_doubtful.store(true, Ordering::Relaxed);
                Likeness::Doubtful
            }
            (false, _) => Likeness::Other,
        })
    }
}

/// Asks whether the public call took effect.
pub(super) async fn resolve(api: &Api, job: &Job<'_>, since: DateTime<Utc>) -> Resolution {
    let progress = Progress::of(job);
    if progress.files.len() != job.media.len() {
        // The public call comes after all files, so it was never made.
        return Resolution::NotThere;
    }
    let posts = Posts { api, job, progress: &progress, since: since - CLOCKS, has_doubtful: AtomicBool::new(false) };
    match recognition::look_for(&posts, &[], job.claims, job.now).await {
        // Another look would show the same, and each is paid.
        Ok(Found::Unclear { .. }) if posts.has_doubtful.load(Ordering::Relaxed) => {
            Resolution::Unknowable { advice: advice(job.profile) }
        }
        Ok(found) => found.into(),
        Err(failure) => failure.resolution(),
    }
}

/// Where the user can look.
fn advice(profile: &Profile) -> String {
    let address = profile.profile_url.as_deref().unwrap_or("https://x.com/");
    format!("a post with the same words is there that may be this one; look at {address} before you post it again")
}

/// A post that is public.
pub(super) fn published(profile: &Profile, id: String, at: DateTime<Utc>) -> Published {
    let link = match &profile.username {
        Some(name) => format!("https://x.com/{name}/status/{id}"),
        None => format!("https://x.com/i/web/status/{id}"),
    };
    Published::new(id, at).seen_at(Some(link))
}

/// A text with the links that it was sent with, and without the one that X puts behind it
/// for its files.
fn as_sent(text: &str, entities: &Entities) -> String {
    let mut text = text.to_owned();
    for link in &entities.urls {
        let is_of_files = link.media_key.is_some();
        let instead = if is_of_files { "" } else { link.expanded_url.as_deref().unwrap_or(&link.url) };
        text = text.replacen(&link.url, instead, 1);
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_read_as_it_was_sent() {
        let post = |value| serde_json::from_value::<Post>(value).unwrap();
        let told = post(json!({
            "id": "1",
            "text": "1 &lt; 2 &amp;&amp; https://t.co/abc here https://t.co/def",
            "entities": { "urls": [
                { "url": "https://t.co/abc", "expanded_url": "https://example.com/a?b=c&d=e" },
                { "url": "https://t.co/def", "expanded_url": "https://x.com/a/status/1/photo/1", "media_key": "3_7" },
            ] },
        }));
        assert_eq!(told.words(), "1 < 2 && https://example.com/a?b=c&d=e here");
        let long = post(json!({ "id": "2", "text": "cut…", "note_tweet": { "text": "all of it" } }));
        assert_eq!(long.words(), "all of it");
    }
}
