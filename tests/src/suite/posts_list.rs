//! The list of posts, compared with a model.

use std::cmp::Ordering;

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, list},
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "posts: list",
        [
            list_matches_the_model,
            pages_cover_the_whole_list,
            posts_are_filtered_by_external_id_and_label,
            queries_are_validated,
            empty_list_has_one_empty_page,
            ids_grow_with_time,
            attempts_are_listed_by_page_for_their_user_only,
        ]
    )
}

/// The fields of a post that decide its position in a list.
#[derive(Debug, Clone)]
struct Row {
    id: i64,
    status: &'static str,
    scheduled_at: Option<String>,
}

/// Random numbers that are equal in every run.
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// A list as the contract describes it.
fn expected_list<'a>(rows: &'a [Row], status: Option<&str>, sort: &str, direction: &str) -> Vec<&'a Row> {
    let mut rows: Vec<_> = rows.iter().filter(|it| status.is_none_or(|status| it.status == status)).collect();
    let turned = |order: Ordering| {
        if direction == "asc" { order } else { order.reverse() }
    };
    rows.sort_by(|a, b| match (&a.scheduled_at, &b.scheduled_at) {
        // Ids grow with time, so the model uses them for created_at.
        _ if sort == "created_at" => turned(a.id.cmp(&b.id)),
        (Some(first), Some(second)) => turned(first.cmp(second).then(a.id.cmp(&b.id))),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => turned(a.id.cmp(&b.id)),
    });
    rows
}

async fn list_matches_the_model(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let mut rows = write_posts(user, 45).await?;
    let user = rows.0;
    let rows = &mut rows.1;
    let mut dice = TestRng(0x5eed_0001);
    for round in 0..120 {
        if round % 4 == 0 {
            change_random_post(&user, rows, &mut dice).await?;
        }
        let status =
            [None, Some("draft"), Some("scheduled"), Some("published"), Some("failed")][to_index(dice.below(5))];
        let sort = ["created_at", "scheduled_at"][to_index(dice.below(2))];
        let direction = ["asc", "desc"][to_index(dice.below(2))];
        let (size, page) = (1 + dice.below(30), 1 + dice.below(6));
        let mut query = format!("/posts?per_page={size}&page={page}&sort={sort}&direction={direction}");
        if let Some(status) = status {
            query = format!("{query}&status={status}");
        }
        compare(&user, rows, (status, sort, direction), (size, page), &query).await?;
    }
    // Every omitted parameter has its default.
    compare(&user, rows, (None, "created_at", "desc"), (15, 1), "/posts").await?;
    compare(&user, rows, (None, "created_at", "desc"), (15, 1), "/posts?status=&per_page=&page=&sort=&direction=")
        .await?;
    compare(&user, rows, (None, "scheduled_at", "desc"), (15, 2), "/posts?sort=scheduled_at&page=2").await
}

fn to_index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

async fn write_posts(mut user: User<'_>, count: u64) -> Result<(User<'_>, Vec<Row>)> {
    let connection = user.connect(0).await?;
    let mut dice = TestRng(0x5eed_0002);
    let mut rows = Vec::new();
    for number in 0..count {
        let scheduled_at = (dice.below(3) > 0).then(|| random_time(&mut dice));
        let body = json!({
            "content": format!("post {number}"),
            "platforms": targets(&[&connection])?,
            "scheduled_at": scheduled_at,
        });
        let id = integer(&user.create(&body).await?, "id")?;
        let status = if scheduled_at.is_some() { "scheduled" } else { "draft" };
        rows.push(Row { id, status, scheduled_at });
    }
    Ok((user, rows))
}

/// One of a few times, so that some posts have equal times.
fn random_time(dice: &mut TestRng) -> String {
    let hours = i64::try_from(dice.below(12)).unwrap_or(0);
    let midnight = (moment::now() + TimeDelta::days(2)).date_naive().and_time(chrono::NaiveTime::MIN).and_utc();
    moment::written(midnight + TimeDelta::hours(hours))
}

async fn change_random_post(user: &User<'_>, rows: &mut Vec<Row>, dice: &mut TestRng) -> Result {
    let index = to_index(dice.below(rows.len() as u64));
    if dice.below(6) == 0 {
        user.api.delete(&format!("/posts/{}", rows[index].id)).await?.is(204)?;
        rows.remove(index);
        return Ok(());
    }
    let time = (dice.below(2) == 0).then(|| random_time(dice));
    user.change(rows[index].id, &json!({ "scheduled_at": time })).await?;
    rows[index].status = if time.is_some() { "scheduled" } else { "draft" };
    rows[index].scheduled_at = time;
    Ok(())
}

async fn compare(
    user: &User<'_>,
    rows: &[Row],
    (status, sort, direction): (Option<&str>, &str, &str),
    (size, page): (u64, u64),
    query: &str,
) -> Result {
    let expected = expected_list(rows, status, sort, direction);
    let shown = expected.iter().skip(to_index((page - 1) * size)).take(to_index(size)).map(|it| it.id);
    let total = expected.len() as u64;

    let response = user.api.get(query).await?.is(200)?;
    let body = response.json()?;

    let found: Vec<_> = list(&body, "data")?.iter().filter_map(|it| it["id"].as_i64()).collect();
    if found != shown.clone().collect::<Vec<_>>() {
        let shown: Vec<_> = shown.collect();
        return Err(response.test_error(&format!("ids should be {shown:?} but are {found:?}")));
    }
    let meta = json!({
        "current_page": page,
        "last_page": total.div_ceil(size).max(1),
        "per_page": size,
        "total": total,
    });
    if body["meta"] != meta {
        return Err(response.test_error(&format!("meta should be {meta} but is {}", body["meta"])));
    }
    same(body.as_object().map(serde_json::Map::len), Some(2), "fields of the list")?;
    list(&body, "data")?.iter().try_for_each(crate::shapes::check_post)
}

async fn pages_cover_the_whole_list(deployment: &Deployment) -> Result {
    let (user, rows) = write_posts(deployment.new_user().await?, 23).await?;
    for (sort, direction) in [("created_at", "asc"), ("scheduled_at", "desc"), ("scheduled_at", "asc")] {
        let mut listed_ids: Vec<i64> = Vec::new();
        for page in 1..=6 {
            let query = format!("/posts?per_page=5&page={page}&sort={sort}&direction={direction}");
            let body = user.api.get(&query).await?.ok(200)?;
            listed_ids.extend(list(&body, "data")?.iter().filter_map(|it| it["id"].as_i64()));
        }
        let expected: Vec<_> = expected_list(&rows, None, sort, direction).into_iter().map(|it| it.id).collect();
        same(listed_ids, expected, &format!("all pages by {sort} {direction}"))?;
    }
    Ok(())
}

async fn posts_are_filtered_by_external_id_and_label(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let mut ids = Vec::new();
    for number in 0..12 {
        let scheduled_at = (number % 2 == 0).then(|| moment::in_seconds(7200 - 60 * number));
        let body = json!({
            "content": format!("post {number}"),
            "platforms": targets(&[&connection])?,
            "scheduled_at": scheduled_at,
            "external_id": format!("a&b {}", number % 3),
            "labels": ["all", format!("every {}", number % 4)],
        });
        ids.push(integer(&user.create(&body).await?, "id")?);
    }
    user.create(&json!({ "content": "without" })).await?;
    let expect = async |query: &str, numbers: &[usize], total: i64| {
        let body = user.api.get(&format!("/posts?direction=asc&{query}")).await?.ok(200)?;
        let found: Vec<_> = list(&body, "data")?.iter().filter_map(|it| it["id"].as_i64()).collect();
        same(found, numbers.iter().map(|it| ids[*it]).collect(), query)?;
        same(integer(&body["meta"], "total")?, total, &format!("total of {query}"))
    };

    expect("label=every%203", &[3, 7, 11], 3).await?;
    expect("external_id=a%26b+1", &[1, 4, 7, 10], 4).await?;
    expect("external_id=a%26b+1&label=every%203", &[7], 1).await?;
    expect("label=all&status=scheduled&per_page=4&page=2", &[8, 10], 6).await?;
    expect("label=all&status=scheduled&sort=scheduled_at&per_page=2", &[10, 8], 6).await?;
    expect("label=every", &[], 0).await?;
    expect("external_id=&label=&per_page=2", &[0, 1], 13).await?;
    user.change(ids[3], &json!({ "labels": ["all"] })).await?;
    user.change(ids[4], &json!({ "labels": ["every 3"] })).await?;
    user.api.delete(&format!("/posts/{}", ids[11])).await?.is(204)?;
    expect("label=every%203", &[4, 7], 2).await?;
    let other = deployment.new_user().await?.api.get("/posts?label=all").await?.ok(200)?;
    same(integer(&other["meta"], "total")?, 0, "posts of another user")
}

async fn queries_are_validated(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    for (query, field) in [
        ("status=bogus", "status"),
        ("status=Draft", "status"),
        ("per_page=0", "per_page"),
        ("per_page=101", "per_page"),
        ("per_page=-1", "per_page"),
        ("per_page=x", "per_page"),
        ("per_page=1.5", "per_page"),
        ("per_page=99999999999999999999", "per_page"),
        (&format!("external_id={}", "x".repeat(256)), "external_id"),
        (&format!("label={}", "x".repeat(51)), "label"),
        ("labels=x", "labels"),
        ("page=0", "page"),
        ("page=-1", "page"),
        ("page=x", "page"),
        ("sort=content", "sort"),
        ("sort=-created_at", "sort"),
        ("direction=up", "direction"),
        ("order=asc", "order"),
        ("q=%00%ff", "q"),
    ] {
        user.api.get(&format!("/posts?{query}")).await?.invalid(&[field])?;
    }
    let all = "status=x&per_page=0&page=0&sort=x&direction=x&extra=x";
    let fields = ["status", "per_page", "page", "sort", "direction", "extra"];
    user.api.get(&format!("/posts?{all}")).await?.invalid(&fields)?;
    for (wrong, right) in [("statu", "status"), ("perpage", "per_page"), ("sorted", "sort"), ("dir", "direction")] {
        let errors = user.api.get(&format!("/posts?{wrong}=1")).await?.invalid(&[wrong])?;
        if wrong != "dir" {
            ensure!(errors.to_string().contains(&format!("did you mean {right}")), "no suggestion: {errors}");
        }
    }
    user.api.get("/posts?per_page=100&page=1&sort=created_at&direction=asc&status=draft").await?.is(200)?;
    Ok(())
}

async fn empty_list_has_one_empty_page(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    for page in [1_i64, 2, 1000] {
        let body = user.api.get(&format!("/posts?page={page}")).await?.ok(200)?;
        let meta = json!({ "current_page": page, "last_page": 1, "per_page": 15, "total": 0 });
        same(body, json!({ "data": [], "meta": meta }), "an empty list")?;
    }
    Ok(())
}

async fn ids_grow_with_time(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let mut last = 0;
    for _ in 0..20 {
        let post: Value = user.create(&json!({ "content": "a" })).await?;
        let id = integer(&post, "id")?;
        ensure!(last < id, "id {id} after {last}");
        last = id;
    }
    Ok(())
}

async fn attempts_are_listed_by_page_for_their_user_only(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let draft = integer(&user.create(&json!({ "content": "a draft" })).await?, "id")?;
    let body = json!({
        "content": fresh("attempts"), "platforms": targets(&[&connection])?, "media": [user.picture().await?],
        "scheduled_at": moment::in_seconds(1),
    });
    let id = integer(&user.create(&body).await?, "id")?;
    user.reaches(id, "published", 60).await?;
    let path = format!("/posts/{id}/attempts");

    let empty = user.api.get(&format!("/posts/{draft}/attempts")).await?.ok(200)?;
    let meta = json!({ "current_page": 1, "last_page": 1, "per_page": 15, "total": 0 });
    same(&empty, &json!({ "data": [], "meta": meta }), "attempts of a draft")?;
    let all = user.api.get(&path).await?.ok(200)?;
    let steps: Vec<_> = list(&all, "data")?.iter().map(|it| (it["step"].clone(), it["outcome"].clone())).collect();
    ensure!(2 <= steps.len(), "a file is sent before the post: {all}");
    same(&steps[0], &(json!("publish"), json!("accepted")), "the newest attempt")?;
    ensure!(steps[1..].iter().all(|it| it.0 == "prepare"), "attempts before the publish call: {all}");
    let second = user.api.get(&format!("{path}?per_page=1&page=2")).await?.ok(200)?;
    same(&second["data"][0], &all["data"][1], "the second page")?;
    same(&second["meta"]["last_page"], &json!(steps.len()), "last_page")?;
    let after_the_last = user.api.get(&format!("{path}?page=9")).await?.ok(200)?;
    same(&after_the_last["data"], &json!([]), "a page after the last")?;
    for query in ["per_page=0", "per_page=101", "page=0", "unknown=1"] {
        user.api.get(&format!("{path}?{query}")).await?.is(422)?;
    }
    deployment.new_user().await?.api.get(&path).await?.is(404)?;
    user.api.get("/posts/1/attempts").await?.is(404)?;
    Ok(())
}
