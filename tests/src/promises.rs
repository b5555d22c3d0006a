//! Posts that successful responses have promised, and what a restarted service has kept of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::{
    client::Api,
    deployment::{User, fresh, targets},
    ensure,
    error::Result,
    http_response::{integer, list},
    moment,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Draft,
    /// For a time after the check.
    Later,
    Published,
}

impl Wanted {
    fn status(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Later => "scheduled",
            Self::Published => "published",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Version {
    pub content: String,
    pub wanted: Wanted,
    /// A position that grows with time, when the response arrived; `None` without a success.
    pub promised_at: Option<u64>,
}

/// With everything that its requests asked for.
#[derive(Clone, Debug)]
pub struct PromisedPost {
    pub id: i64,
    pub accounts: usize,
    pub has_picture: bool,
    /// In the order of their requests.
    pub versions: Vec<Version>,
}

impl PromisedPost {
    /// The versions of which the service has one after the responses until `position`: the last one
    /// that was promised, or a later one. Empty if nothing was promised.
    fn possible(&self, position: u64) -> &[Version] {
        let promised = self.versions.iter().rposition(|it| it.promised_at.is_some_and(|at| at <= position));
        promised.map_or(&[], |first| &self.versions[first..])
    }

    /// From every possible version; `None` if it is one of them.
    fn difference(&self, possible: &[Version], post: &Value, public: &[Value]) -> Option<String> {
        let is_version = |it: &&Version| post["content"] == it.content.as_str() && post["status"] == it.wanted.status();
        let Some(version) = possible.iter().find(is_version) else {
            return Some(format!("the post should be one of {possible:?}, but is {post}"));
        };
        let entries: Vec<_> = public.iter().filter(|it| it["text"] == version.content.as_str()).collect();
        let accounts: BTreeSet<_> = entries.iter().map(|it| it["account"].as_str()).collect();
        let expected = if version.wanted == Wanted::Published { self.accounts } else { 0 };
        if accounts.len() != expected {
            return Some(format!("{} is public on {accounts:?}, not on {expected} accounts", version.content));
        }
        let pictures = usize::from(self.has_picture);
        let is_whole = |it: &&Value| it["media"].as_array().map_or(0, Vec::len) == pictures;
        (!entries.iter().all(is_whole))
            .then(|| format!("{} should have {pictures} pictures: {entries:?}", version.content))
    }
}

/// As sentences.
#[derive(Clone, Debug, Default)]
pub struct Broken {
    pub lost: Vec<String>,
    pub published_twice: Vec<String>,
}

impl Broken {
    pub fn extend(&mut self, other: Self) {
        self.lost.extend(other.lost);
        self.published_twice.extend(other.published_twice);
    }

    /// The error names the first few.
    pub fn check(&self) -> Result {
        let (lost, twice) = (self.lost.len(), self.published_twice.len());
        let first: Vec<_> = self.lost.iter().take(5).chain(self.published_twice.iter().take(5)).cloned().collect();
        ensure!(lost + twice == 0, "{lost} lost, {twice} published twice:\n      {}", first.join("\n      "));
        Ok(())
    }
}

/// A draft, a post that is due now or in an hour, or a draft that a second request schedules.
/// `position` is read after each response.
pub async fn write_post(
    api: &Api,
    [a, b]: [&Value; 2],
    picture: &str,
    number: u32,
    position: &(dyn Fn() -> u64 + Sync),
) -> Result<PromisedPost> {
    let content = fresh(&format!("post {number}"));
    let (wanted, time) = if number.is_multiple_of(4) {
        (Wanted::Draft, None)
    } else if number % 10 == 3 {
        (Wanted::Later, Some(moment::in_seconds(3600)))
    } else {
        // Due before, at and after the response.
        let due = TimeDelta::milliseconds(i64::from(number * 331 % 2500) - 300);
        (Wanted::Published, Some(moment::written(moment::now() + due)))
    };
    let accounts = if number.is_multiple_of(5) { 2 } else { 1 };
    let has_picture = number.is_multiple_of(7);
    let body = json!({
        "content": content,
        "platforms": targets(&[a, b][..accounts])?,
        "scheduled_at": time,
        "media": if has_picture { vec![picture] } else { vec![] },
    });
    let post = api.post("/posts", &body).await?.ok(201)?;
    let versions = vec![Version { content: content.clone(), wanted, promised_at: Some(position()) }];
    let mut promise = PromisedPost { id: integer(&post, "id")?, accounts, has_picture, versions };
    if number % 8 == 4 {
        let content = if number % 16 == 4 { content } else { fresh(&format!("changed post {number}")) };
        let body = json!({ "content": content, "scheduled_at": moment::in_seconds(1) });
        let response = api.patch(&format!("/posts/{}", promise.id), &body).await;
        // Without a success it is unknown whether it was written.
        let promised_at = response.ok().filter(|it| it.status == 200).map(|_| position());
        promise.versions.push(Version { content, wanted: Wanted::Published, promised_at });
    }
    Ok(promise)
}

pub fn count_acknowledged(posts: &[PromisedPost]) -> usize {
    posts.iter().flat_map(|it| &it.versions).filter(|it| it.promised_at.is_some()).count()
}

/// Until no post is due or being published, but no longer than `timeout`.
pub async fn wait_for_publishing(user: &User<'_>, timeout: Duration) -> Result {
    let until = Instant::now() + timeout;
    while Instant::now() < until && list_posts(user).await?.iter().any(is_in_progress) {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok(())
}

fn is_in_progress(post: &Value) -> bool {
    let soon = moment::now() + TimeDelta::minutes(1);
    let is_due = moment::read(&post["scheduled_at"]).is_ok_and(|it| it <= soon);
    post["status"] == "publishing" || post["status"] == "scheduled" && is_due
}

async fn list_posts(user: &User<'_>) -> Result<Vec<Value>> {
    let mut posts = Vec::new();
    for page in 1.. {
        let query = format!("/posts?per_page=100&sort=created_at&direction=asc&page={page}");
        let body = user.api.get(&query).await?.ok(200)?;
        posts.extend_from_slice(list(&body, "data")?);
        if integer(&body["meta"], "last_page")? <= page {
            break;
        }
    }
    Ok(posts)
}

/// The promises until `position`. Posts that are due must have ended, see [`wait_for_publishing`].
pub async fn find_broken(user: &User<'_>, promised: &[PromisedPost], position: u64) -> Result<Broken> {
    let posts = list_posts(user).await?;
    let posts: BTreeMap<_, _> = posts.iter().map(|it| (it["id"].as_i64(), it)).collect();
    let public = user.deployment.all_posts().await?;
    let mut broken = Broken { lost: Vec::new(), published_twice: repeated(&public) };
    for promise in promised {
        let possible = promise.possible(position);
        if possible.is_empty() {
            continue;
        }
        match posts.get(&Some(promise.id)) {
            Some(post) => broken.lost.extend(promise.difference(possible, post, &public)),
            None => broken.lost.push(format!("the post is gone: {promise:?}")),
        }
    }
    Ok(broken)
}

/// Counts posts of one account, whether they were promised or not.
fn repeated(public: &[Value]) -> Vec<String> {
    let mut counts: BTreeMap<_, u32> = BTreeMap::new();
    for entry in public {
        *counts.entry((entry["account"].as_str(), entry["text"].as_str())).or_default() += 1;
    }
    let repeated = counts.into_iter().filter(|(_, count)| 1 < *count);
    repeated.map(|((account, text), count)| format!("{account:?} has {text:?} {count} times")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(content: &str, wanted: Wanted, promised_at: Option<u64>) -> Version {
        Version { content: content.to_owned(), wanted, promised_at }
    }

    fn changed_post() -> PromisedPost {
        let versions = vec![version("old", Wanted::Draft, Some(10)), version("new", Wanted::Published, Some(20))];
        PromisedPost { id: 1, accounts: 2, has_picture: false, versions }
    }

    fn entry(account: &str, text: &str) -> Value {
        json!({ "account": account, "text": text, "media": [] })
    }

    #[test]
    fn later_versions_are_possible_and_earlier_ones_are_not() {
        let post = changed_post();

        assert_eq!([9, 10, 19, 20].map(|it| post.possible(it).len()), [0, 2, 2, 1]);
    }

    #[test]
    fn published_post_is_public_on_each_account() {
        let (promise, post) = (changed_post(), json!({ "content": "new", "status": "published" }));
        let difference = |public: &[Value]| promise.difference(promise.possible(20), &post, public);

        assert!(difference(&[entry("a", "new"), entry("b", "new"), entry("b", "other")]).is_none());
        assert!(difference(&[entry("a", "new")]).is_some());
    }

    #[test]
    fn lost_change_is_a_difference() {
        let (promise, post) = (changed_post(), json!({ "content": "old", "status": "draft" }));

        assert!(promise.difference(promise.possible(19), &post, &[]).is_none());
        assert!(promise.difference(promise.possible(20), &post, &[]).is_some());
    }

    #[test]
    fn repeated_text_of_one_account_is_found() {
        assert!(repeated(&[entry("a", "x"), entry("b", "x"), entry("a", "y")]).is_empty());
        assert_eq!(repeated(&[entry("a", "x"), entry("a", "x")]).len(), 1);
    }
}
