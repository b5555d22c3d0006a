use domain::testing::noon;

use super::*;

#[derive(Clone)]
struct Post {
    id: String,
    matching: PostMatch,
}

impl Listed for Post {
    fn id(&self) -> &str {
        &self.id
    }

    fn at(&self) -> Option<DateTime<Utc>> {
        None
    }

    fn url(&self) -> Option<String> {
        None
    }
}

/// Newest first.
struct Account {
    posts: Vec<Post>,
    page: usize,
    knows_pages: bool,
    /// Whether a list entry is sufficient to compare a post.
    tells_all: bool,
}

#[async_trait::async_trait]
impl Timeline for Account {
    type Post = Post;
    type Error = ();

    async fn page(&self, after: Option<&str>) -> Result<Vec<Post>, ()> {
        let after = after.filter(|_| self.knows_pages);
        let from = after.map_or(0, |after| self.posts.iter().position(|it| it.id == after).unwrap() + 1);
        Ok(self.posts[from..].iter().take(self.page).cloned().collect())
    }

    fn post_match(&self, post: &Post) -> Option<PostMatch> {
        Some(post.matching).filter(|it| self.tells_all || *it == Exact)
    }

    async fn compare(&self, post: &Post) -> Result<PostMatch, ()> {
        Ok(post.matching)
    }
}

struct Claimed {
    ours: Vec<String>,
    others: Vec<String>,
}

#[async_trait::async_trait]
impl Claims for Claimed {
    async fn find(&self, ids: &[String]) -> Result<Vec<(String, Claim)>, ClaimsError> {
        let claimed_by = |claimed: &[String], claim| {
            let among = claimed.iter().filter(|it| ids.contains(it)).cloned();
            among.map(|it| (it, claim)).collect::<Vec<_>>()
        };
        Ok([claimed_by(&self.ours, Claim::Ours), claimed_by(&self.others, Claim::Others)].concat())
    }
}

struct FailingClaims;

#[async_trait::async_trait]
impl Claims for FailingClaims {
    async fn find(&self, _: &[String]) -> Result<Vec<(String, Claim)>, ClaimsError> {
        Err(ClaimsError)
    }
}

fn account(posts: &[(&str, PostMatch)]) -> Account {
    let post = |(id, post_match): &(&str, PostMatch)| Post { id: (*id).to_owned(), matching: *post_match };
    Account { posts: posts.iter().map(post).collect(), page: 40, knows_pages: true, tells_all: false }
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|it| (*it).to_owned()).collect()
}

/// The result in one word, with its id.
async fn found(account: &Account, before: &[&str], others: &[&str]) -> String {
    found_with(account, before, Claimed { ours: Vec::new(), others: ids(others) }).await
}

async fn found_with(account: &Account, before: &[&str], claims: Claimed) -> String {
    match look_for(account, &ids(before), &claims, noon()).await.unwrap() {
        Recognition::Public(it) => format!("public {}", it.platform_post_id),
        Recognition::Candidate(it) => format!("candidate {}", it.platform_post_id),
        Recognition::NotPublished => "not published".to_owned(),
        Recognition::Pending { .. } => "pending".to_owned(),
    }
}

use PostMatch::{Different, Equal, Exact, Possible};

#[tokio::test]
async fn only_newer_unclaimed_posts_are_compared() {
    for (posts, before, others, expected) in [
        (&[("3", Equal), ("2", Different), ("1", Equal)][..], &["1"][..], &[][..], "candidate 3"),
        (&[("3", Equal), ("2", Different), ("1", Equal)], &["1"], &["3"], "not published"),
        (&[("3", Equal), ("2", Exact), ("1", Different)], &["1"], &[], "public 2"),
        (&[("3", Equal), ("2", Equal)], &["1"], &["2"], "candidate 3"),
        (&[("3", Equal), ("2", Equal), ("1", Different)], &["1"], &[], "candidate 2"),
        (&[("2", Possible), ("1", Equal)], &["1"], &[], "pending"),
        (&[("2", Possible), ("1", Equal)], &["1"], &["2"], "not published"),
        (&[("3", Possible), ("2", Equal)], &[], &[], "candidate 2"),
        (&[("1", Equal)], &["1"], &[], "not published"),
        (&[], &[], &[], "not published"),
        (&[("1", Equal)], &[], &[], "candidate 1"),
    ] {
        assert_eq!(found(&account(posts), before, others).await, expected, "{posts:?} {before:?} {others:?}");
    }
}

#[tokio::test]
async fn removed_or_pinned_posts_hide_no_newer_post() {
    // Of the earlier posts, all but "1" were removed; "0" was further down then.
    let removed = account(&[("9", Equal), ("1", Different), ("0", Equal)]);
    assert_eq!(found(&removed, &["4", "3", "2", "1"], &[]).await, "candidate 9");
    let removed = account(&[("9", Different), ("1", Different), ("0", Equal)]);
    assert_eq!(found(&removed, &["4", "3", "2", "1"], &[]).await, "not published");
    // A pinned post is listed before newer ones.
    let pinned = account(&[("1", Different), ("9", Equal), ("3", Different), ("2", Different)]);
    assert_eq!(found(&pinned, &["3", "2", "1"], &[]).await, "candidate 9");
}

#[tokio::test]
async fn pages_are_read_until_a_known_post() {
    let mut long = account(&[]);
    long.posts = (0..150).rev().map(|id| Post { id: id.to_string(), matching: Different }).collect();
    long.posts[90].matching = Equal;

    assert_eq!(found(&long, &["10"], &[]).await, "pending", "too many to compare");
    assert_eq!(found(&long, &["50"], &[]).await, "candidate 59", "the oldest are compared first");
    let others: Vec<String> = (0..150).map(|it| it.to_string()).filter(|it| *it != "59").collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    assert_eq!(found(&long, &["10"], &others).await, "candidate 59");
    long.page = 20;
    assert_eq!(found(&long, &["10"], &others).await, "candidate 59");
    long.posts[90].matching = Different;
    assert_eq!(found(&long, &["10"], &others).await, "pending", "not everything since was read");
    assert_eq!(found(&long, &["50"], &others).await, "not published");
}

#[tokio::test]
async fn post_claimed_before_a_crash_is_ours() {
    let account = account(&[("3", Equal), ("2", Equal), ("1", Different)]);
    let claims = Claimed { ours: ids(&["3"]), others: Vec::new() };
    assert_eq!(found_with(&account, &["1"], claims).await, "public 3");
}

#[tokio::test]
async fn suddenly_empty_list_decides_nothing() {
    assert_eq!(found(&account(&[]), &["1"], &[]).await, "pending");
}

#[tokio::test]
async fn list_that_starts_again_has_ended() {
    let mut account = account(&[("3", Different), ("2", Different)]);
    account.knows_pages = false;
    assert_eq!(found(&account, &["1"], &[]).await, "not published", "what was there was removed");

    // The list is as long as before, and none of the earlier posts is in it.
    account.posts = (0..20).rev().map(|id| Post { id: format!("new {id}"), matching: Different }).collect();
    account.page = 20;
    assert_eq!(found(&account, &["1"], &[]).await, "pending");
}

#[tokio::test]
async fn unavailable_claims_decide_nothing() {
    let account = account(&[("2", Equal), ("1", Different)]);
    let found = look_for(&account, &ids(&["1"]), &FailingClaims, noon()).await.unwrap();
    assert!(matches!(found, Recognition::Pending { .. }), "{found:?}");
}

#[tokio::test]
async fn complete_list_entries_decide_like_comparisons() {
    let posts = [("4", Different), ("3", Equal), ("2", Equal), ("1", Different)];
    for (posts, before, others, expected) in [
        (&posts[..], &["1"][..], &[][..], "candidate 2"),
        (&posts, &["1"], &["2"], "candidate 3"),
        (&posts, &["1"], &["2", "3"], "not published"),
        (&[("2", Possible), ("1", Different)], &["1"], &[], "pending"),
        (&[("3", Exact), ("2", Equal), ("1", Different)], &["1"], &[], "public 3"),
    ] {
        let account = Account { tells_all: true, ..account(posts) };
        assert_eq!(found(&account, before, others).await, expected, "{posts:?} without {others:?}");
    }
}
