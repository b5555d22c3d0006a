//! Threads: replies that continue a post.

use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, fresh},
    error::{Result, same},
    http_response::{integer, list},
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "threads",
        [
            thread_is_published_in_order,
            target_can_have_another_thread,
            errors_of_a_thread_are_reported_by_field,
            thread_of_a_draft_can_be_changed,
            connection_says_how_long_a_thread_can_be,
        ]
    )
}

async fn thread_is_published_in_order(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let account = user.connect(0).await?["id"].clone();
    let texts = [fresh("one"), fresh("two"), fresh("four")];
    let pictures = [user.picture().await?, user.picture().await?];
    let body = json!({
        "content": texts[0],
        "platforms": [{ "connected_account_id": account }],
        "thread": [
            { "content": texts[1], "media": [{ "path": pictures[0], "alt_text": "of the second" }] },
            { "media": [pictures[1]] },
            { "content": texts[2] },
        ],
        "scheduled_at": moment::in_seconds(0),
    });

    let id = integer(&user.create(&body).await?, "id")?;
    let post = user.reaches(id, "published", 60).await?;

    let segments = list(&post["platforms"][0], "segments")?;
    let field = |name: &str| segments.iter().map(|it| it[name].clone()).collect::<Vec<_>>();
    same(field("kind"), ["post", "reply", "reply", "reply"].map(Value::from).to_vec(), "kinds")?;
    same(field("status"), vec![json!("published"); 4], "statuses")?;
    same(&segments[2]["content"], &Value::Null, "content of a reply with a picture alone")?;
    same(list(&segments[1], "media")?[0]["alt_text"].clone(), json!("of the second"), "alt text of a reply")?;
    for (index, text) in [(0_usize, &texts[0]), (1, &texts[1]), (3, &texts[2])] {
        let shown = deployment.timeline(text).await?;
        same(shown.len(), 1, "posts with this text")?;
        let parent = index.checked_sub(1).map_or(Value::Null, |it| segments[it]["platform_post_id"].clone());
        same(&shown[0]["reply_to"], &parent, "what a segment replies to")?;
    }
    Ok(())
}

async fn target_can_have_another_thread(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let (first, second) = (user.connect(0).await?["id"].clone(), user.connect(1).await?["id"].clone());
    let (all, own) = (fresh("for all"), fresh("for one"));
    let body = json!({
        "content": fresh("a thread"),
        "platforms": [
            { "connected_account_id": first, "thread": [] },
            { "connected_account_id": second, "thread": [{ "content": own }] },
        ],
        "thread": [{ "content": all }],
        "scheduled_at": moment::in_seconds(0),
    });

    let post = user.create(&body).await?;
    same(&post["thread"], &json!([{ "content": all, "media": [] }]), "thread of the post")?;
    same(&post["platforms"][0]["thread"], &json!([]), "thread of the first account")?;
    let post = user.reaches(integer(&post, "id")?, "published", 60).await?;

    let lengths: Vec<_> = list(&post, "platforms")?.iter().map(|it| it["segments"].as_array().map(Vec::len)).collect();
    same(lengths, vec![Some(1), Some(2)], "segments by account")?;
    same(deployment.timeline(&own).await?.len(), 1, "replies of the second account")?;
    same(deployment.timeline(&all).await?.len(), 0, "replies that no account has")
}

async fn errors_of_a_thread_are_reported_by_field(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let account = user.connect(0).await?["id"].clone();
    let with = |thread: Value, own: Value| {
        json!({
            "content": "a",
            "platforms": [{ "connected_account_id": account, "thread": own }],
            "thread": thread,
            "scheduled_at": moment::in_seconds(3600),
        })
    };
    for (thread, own, fields) in [
        (json!([{}]), Value::Null, ["thread.0.content"]),
        (json!([{ "content": "b" }, { "content": " " }]), Value::Null, ["thread.1.content"]),
        (json!([{ "content": "b", "media": ["media/1/2.png"] }]), Value::Null, ["thread.0.media.0"]),
        (json!([{ "content": "b", "title": "c" }]), Value::Null, ["thread.0.title"]),
        (json!(vec![json!({ "content": "b" }); 25]), Value::Null, ["thread"]),
        (json!([]), json!([{ "content": "x".repeat(5000) }]), ["platforms.0.thread.0.content"]),
    ] {
        user.api.post("/posts", &with(thread, own)).await?.invalid(&fields)?;
    }
    Ok(())
}

async fn thread_of_a_draft_can_be_changed(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let body = json!({ "content": "a", "thread": [{ "content": "b" }, { "content": "c" }] });
    let id = integer(&user.create(&body).await?, "id")?;

    let kept = user.change(id, &json!({ "content": "other" })).await?;
    same(list(&kept, "thread")?.len(), 2, "replies after another change")?;
    let changed = user.change(id, &json!({ "thread": [{ "content": "d" }] })).await?;
    same(&changed["thread"], &json!([{ "content": "d", "media": [] }]), "replies after they were replaced")?;
    let none = user.change(id, &json!({ "thread": [] })).await?;
    same(&none["thread"], &json!([]), "replies after they were removed")
}

async fn connection_says_how_long_a_thread_can_be(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let id = integer(&user.connect(0).await?, "id")?;
    let connection = user.api.get(&format!("/connections/{id}")).await?.ok(200)?;
    let entry = list(&connection, "meta")?.iter().find(|it| it["name"] == "max_thread").cloned();
    same(entry, Some(json!({ "name": "max_thread", "value": 24 })), "max_thread of the sandbox")
}
