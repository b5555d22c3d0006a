//! Posts that are written concurrently, and a post that makes false claims about itself.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use futures::future::{join_all, try_join_all};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    deployment::{User, fresh, targets},
    ensure,
    error::{Result, TestError},
    http_response::{integer, list, text},
    moment,
};

/// How long posts are listed while they are written.
const LISTED_FOR: Duration = Duration::from_secs(30);

pub(super) fn attacks() -> Vec<Attack> {
    let mut all = attacks!(17, [
        "20 concurrent changes of one scheduled post, 5 times", "each 200; the last one is stored" => concurrent_changes;
        "20 changes of a post while it is published", "each 200 or 422" => changes_during_publication;
        "60 posts of one user created concurrently, then deleted concurrently", "each 201, then 204" => concurrent_creates_and_deletes;
        "an account is disconnected while ten posts are scheduled on it", "204 or 422, nothing else" => disconnect_while_scheduling;
    ]);
    all.extend(attacks!(18, [
        "lists for 30 s, while six writers move, delete and create posts", "every list is consistent" => lists;
    ]));
    all.extend(attacks!(19, [
        "a failed post loses its failed entry and gets a time next year", "422 on scheduled_at" => published_post_scheduled_again;
        "a token for drafts swaps a draft between the look of its user and the scheduling",
            "412; 428 without If-Match; the version that was seen is published" => draft_swapped_before_scheduling;
    ]));
    all
}

fn count_statuses(seen: &[u16]) -> String {
    let mut counted: BTreeMap<u16, usize> = BTreeMap::new();
    for status in seen {
        *counted.entry(*status).or_default() += 1;
    }
    counted.iter().map(|(status, count)| format!("{count} × {status}")).collect::<Vec<_>>().join(", ")
}

async fn concurrent_changes(deployments: &AttackTargets) -> Result<String> {
    let mut user = deployments.lifted().new_user().await?;
    let connection = user.connect(0).await?;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let post = user.schedule(&fresh("first"), &[&connection], 7200).await?;
        let path = format!("/posts/{post}");
        let contents: Vec<_> = (0..20).map(|_| fresh("change")).collect();
        let bodies: Vec<_> = contents.iter().map(|it| json!({ "content": it })).collect();
        let responses = try_join_all(bodies.iter().map(|it| user.api.patch(&path, it))).await?;
        statuses.extend(responses.iter().map(|it| it.status));
        ensure!(responses.iter().all(|it| it.status == 200), "{}", count_statuses(&statuses));
        let stored = user.show(post).await?;
        ensure!(contents.iter().any(|it| stored["content"] == **it), "none of the changes is kept: {stored}");
    }
    Ok(count_statuses(&statuses))
}

async fn changes_during_publication(deployments: &AttackTargets) -> Result<String> {
    let mut user = deployments.lifted().new_user().await?;
    let connection = user.connect(0).await?;
    let content = fresh("goes out");
    let post = user.schedule(&content, &[&connection], 3).await?;
    let (path, mut statuses) = (format!("/posts/{post}"), Vec::new());
    let time = moment::in_seconds(4);
    for _ in 0..8 {
        let body = json!({ "content": content, "scheduled_at": time });
        let responses = join_all((0..20).map(|_| user.api.patch(&path, &body))).await;
        for response in responses {
            let response = response?;
            ensure!([200, 422].contains(&response.status), "{}", response.test_error("neither 200 nor 422"));
            statuses.push(response.status);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    user.reaches(post, "published", 30).await?;
    let public = deployments.lifted().timeline(&content).await?.len();
    ensure!(public == 1, "it is public {public} times");
    Ok(format!("{}; public once", count_statuses(&statuses)))
}

async fn concurrent_creates_and_deletes(deployments: &AttackTargets) -> Result<String> {
    let user = deployments.lifted().new_user().await?;
    let body = json!({ "content": "a" });
    let created = try_join_all((0..60).map(|_| user.api.post("/posts", &body))).await?;
    let mut statuses: Vec<_> = created.iter().map(|it| it.status).collect();
    ensure!(statuses.iter().all(|it| *it == 201), "{}", count_statuses(&statuses));
    let paths = created.iter().map(|it| Ok(format!("/posts/{}", it.json()?["id"]))).collect::<Result<Vec<_>>>()?;
    let deleted = try_join_all(paths.iter().map(|it| user.api.delete(it))).await?;
    statuses.extend(deleted.iter().map(|it| it.status));
    ensure!(deleted.iter().all(|it| it.status == 204), "{}", count_statuses(&statuses));
    let remaining = user.api.get("/posts").await?.ok(200)?;
    ensure!(remaining["meta"]["total"] == 0, "{remaining}");
    Ok(count_statuses(&statuses))
}

async fn disconnect_while_scheduling(deployments: &AttackTargets) -> Result<String> {
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let mut user = deployments.lifted().new_user().await?;
        let connection = user.connect(0).await?;
        let time = moment::in_seconds(7200);
        let body = json!({ "content": "a", "platforms": targets(&[&connection])?, "scheduled_at": time });
        let path = format!("/connections/{}", integer(&connection, "id")?);
        let (created, deleted) =
            futures::join!(join_all((0..10).map(|_| user.api.post("/posts", &body))), user.api.delete(&path));
        let (created, deleted) = (created.into_iter().collect::<Result<Vec<_>>>()?, deleted?);
        let scheduled = created.iter().filter(|it| it.status == 201).count();
        ensure!(
            created.iter().all(|it| [201, 422].contains(&it.status)),
            "{}",
            count_statuses(&status_codes(&created))
        );
        ensure!([204, 422].contains(&deleted.status), "{}", deleted.test_error("neither 204 nor 422"));
        ensure!(deleted.status == 422 || scheduled == 0, "disconnected with {scheduled} scheduled posts");
        statuses.extend(status_codes(&created));
        statuses.push(deleted.status);
    }
    Ok(count_statuses(&statuses))
}

fn status_codes(responses: &[crate::http_response::HttpResponse]) -> Vec<u16> {
    responses.iter().map(|it| it.status).collect()
}

async fn lists(deployments: &AttackTargets) -> Result<String> {
    let mut user = deployments.lifted().new_user().await?;
    let connection = user.connect(0).await?;
    let platforms = targets(&[&connection])?;
    let is_over = AtomicBool::new(false);

    let writers = (0..6).map(|hand| write_posts(&user, &platforms, hand, &is_over));
    let readers = async {
        let read = try_join_all((0..4).map(|reader| read(&user, reader))).await;
        is_over.store(true, Ordering::SeqCst);
        read
    };
    let (write_results, read_results) = futures::join!(join_all(writers), readers);

    let count: u64 = write_results.into_iter().sum::<Result<u64>>()?;
    let (lists, posts) = read_results?.into_iter().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    Ok(format!("{lists} lists of {posts} posts during {count} writes, all consistent"))
}

/// Returns how many posts were written.
async fn write_posts(user: &User<'_>, platforms: &Value, writer: u64, is_over: &AtomicBool) -> Result<u64> {
    let draft = json!({ "content": format!("of {writer}"), "platforms": platforms });
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(integer(&user.create(&draft).await?, "id")?);
    }
    for round in 0_u64.. {
        if is_over.load(Ordering::SeqCst) {
            return Ok(round);
        }
        let at = usize::try_from(round % 4).unwrap_or_default();
        let path = format!("/posts/{}", ids[at]);
        if round % 7 == 6 {
            user.api.delete(&path).await?.is(204)?;
            ids[at] = integer(&user.create(&draft).await?, "id")?;
        } else {
            let hours = i64::try_from(round * 7 % 50).unwrap_or_default();
            let time = (round / 4 % 2 == 0).then(|| moment::in_seconds(3600 * (hours + 1)));
            user.api.patch(&path, &json!({ "scheduled_at": time })).await?.is(200)?;
        }
    }
    Ok(0)
}

/// Checks that each list is consistent. Returns the number of lists and of posts.
async fn read(user: &User<'_>, reader: usize) -> Result<(usize, usize)> {
    let (mut lists, mut posts) = (0, 0);
    let began = Instant::now();
    while began.elapsed() < LISTED_FOR {
        let round = lists;
        lists += 1;
        let status = ["", "draft", "scheduled"][(round + reader) % 3];
        let sort = ["created_at", "scheduled_at"][round / 3 % 2];
        let direction = ["asc", "desc"][round / 6 % 2];
        let (size, page) = ([1, 5, 15, 100][round % 4], 1 + round / 4 % 3);
        let query = format!("/posts?status={status}&sort={sort}&direction={direction}&per_page={size}&page={page}");
        let response = user.api.get(&query).await?.is(200)?;
        posts +=
            check_list(&response.json()?, status, size, page).map_err(|it| response.test_error(&it.to_string()))?;
    }
    Ok((lists, posts))
}

fn check_list(body: &Value, status: &str, size: usize, page: usize) -> Result<usize> {
    let data = list(body, "data")?;
    for post in data.iter().filter(|_| !status.is_empty()) {
        ensure!(text(post, "status")? == status, "a list of {status} has {}", post["status"]);
    }
    let total = usize::try_from(integer(&body["meta"], "total")?)?;
    let expected = total.saturating_sub((page - 1) * size).min(size);
    ensure!(data.len() == expected, "of {total} posts this page has {}, not {expected}", data.len());
    let last = usize::try_from(integer(&body["meta"], "last_page")?)?;
    ensure!(last == total.div_ceil(size).max(1), "{total} posts with a last page of {last}");
    Ok(data.len())
}

async fn draft_swapped_before_scheduling(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let mut user = deployment.new_user().await?;
    let (connection, email) = (user.connect(0).await?, user.email.clone());
    let drafts = deployment.grant(&mut user.browser, &email, &["posts:read", "posts:draft"]).await?;
    let (seen_text, swapped_text) = (fresh("seen"), fresh("swapped"));
    let body = json!({ "content": seen_text, "platforms": targets(&[&connection])? });
    let path = format!("/posts/{}", integer(&drafts.post("/posts", &body).await?.ok(201)?, "id")?);
    let shown = user.api.get(&path).await?.is(200)?;
    let now = json!({ "scheduled_at": "now" });
    let schedule =
        async |tag: &str| user.api.call(Method::PATCH, &path).header("if-match", tag).json(&now).send().await;

    drafts.patch(&path, &json!({ "content": swapped_text })).await?.is(200)?;
    schedule(shown.header("etag")).await?.refused(412)?;
    schedule("*").await?.refused(428)?;
    user.api.patch(&path, &now).await?.refused(428)?;
    let stored = user.api.get(&path).await?.ok(200)?;
    ensure!(stored["status"] == "draft", "it is {}", stored["status"]);

    // Even if another token swaps the post continuously, only the version that was shown is
    // published.
    drafts.patch(&path, &json!({ "content": seen_text })).await?.is(200)?;
    let shown = user.api.get(&path).await?.is(200)?;
    let (original, replacement) = (json!({ "content": seen_text }), json!({ "content": swapped_text }));
    let swaps = join_all((0..20).map(|it| drafts.patch(&path, if it % 2 == 0 { &replacement } else { &original })));
    let (scheduled, swaps) = futures::join!(schedule(shown.header("etag")), swaps);
    let scheduled = scheduled?.status;
    let mut statuses = vec![scheduled];
    for swap in swaps {
        statuses.push(swap?.status);
    }
    ensure!([200, 412].contains(&scheduled), "scheduling ended with {scheduled}");
    ensure!(statuses[1..].iter().all(|it| [200, 403].contains(it)), "{}", self::count_statuses(&statuses));
    let post = user.api.get(&path).await?.ok(200)?;
    ensure!(scheduled == 412 || post["content"] == *seen_text, "an unseen version is scheduled: {post}");
    ensure!(deployment.timeline(&swapped_text).await?.is_empty(), "an unseen version is public");
    Ok(format!("412, 428 and 428; during 20 swaps {scheduled}"))
}

async fn published_post_scheduled_again(deployments: &AttackTargets) -> Result<String> {
    let mut user = deployments.lifted().new_user().await?;
    // No other attack uses the second one: armed faults strike an account of any user.
    let (good, bad) = (user.connect(0).await?, user.connect(3).await?);
    let account = text(&bad, "username")?.to_owned();
    deployments.lifted().arm(&json!({ "account": account, "kind": "refuse" })).await?;
    let post = user.schedule(&fresh("half"), &[&good, &bad], 1).await?;
    user.reaches(post, "failed", 30).await?;

    let next_year = moment::in_seconds(365 * 86_400);
    let change = json!({ "platforms": targets(&[&good])?, "scheduled_at": next_year });
    let refused = user.api.patch(&format!("/posts/{post}"), &change).await?;
    refused.clone().invalid(&["scheduled_at"])?;
    let unchanged = user.show(post).await?;
    ensure!(unchanged["status"] == "failed", "a refused change made it {}", unchanged["status"]);

    let ended = user.change(post, &json!({ "platforms": targets(&[&good])? })).await?;
    let entry = list(&ended, "platforms")?.first().ok_or_else(|| TestError::new("no entry is left"))?;
    ensure!(ended["status"] == "published" && entry["status"] == "published", "{ended}");
    Ok(format!("{} {}; without a time published", refused.status, refused.json()?["message"]))
}
