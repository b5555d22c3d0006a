//! Profiles: the customers of a user.

use serde_json::{Value, json};

use crate::{
    checks,
    client::Api,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, list},
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "profiles",
        [
            profile_is_created_listed_renamed_and_deleted,
            invalid_profile_is_refused,
            account_belongs_to_a_profile_or_to_the_user,
            post_is_for_the_accounts_of_one_profile,
            profiles_of_other_users_do_not_exist,
            limited_token_sees_only_its_profile,
            what_a_limited_token_creates_belongs_to_its_profile,
            limited_token_ends_with_its_profile,
            profile_is_deleted_with_a_request_to_erase_it,
        ]
    )
}

async fn profile_is_created_listed_renamed_and_deleted(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let external_id = format!("customer-{}", user.id);
    let body = json!({ "name": "The Harbor", "external_id": external_id });
    let profile = user.api.post("/profiles", &body).await?.ok(201)?;
    let id = integer(&profile, "id")?;
    let path = format!("/profiles/{id}");
    same(&user.api.get(&path).await?.ok(200)?, &profile, "the profile")?;
    same(&profile["external_id"], &json!(external_id), "its external id")?;
    let other = user.api.post("/profiles", &json!({ "name": "The Pier" })).await?.ok(201)?;

    let listed = user.api.get("/profiles?per_page=1&page=2").await?.ok(200)?;
    same(&listed["data"], &json!([other]), "the second page")?;
    same(&listed["meta"], &json!({ "current_page": 2, "last_page": 2, "per_page": 1, "total": 2 }), "its position")?;
    let found = user.api.get(&format!("/profiles?external_id={external_id}")).await?.ok(200)?;
    same(&found["data"], &json!([profile]), "the profile with the external id")?;

    let renamed = user.api.patch(&path, &json!({ "name": "The Lighthouse" })).await?.ok(200)?;
    same(&renamed["name"], &json!("The Lighthouse"), "the name")?;
    user.api.delete(&path).await?.is(204)?;
    user.api.get(&path).await?.is(404)?;
    user.api.post("/profiles", &body).await?.is(201)?;
    Ok(())
}

async fn invalid_profile_is_refused(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let taken = format!("customer-{}", user.id);
    user.api.post("/profiles", &json!({ "name": "a", "external_id": taken })).await?.is(201)?;
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": " " }), "name"),
        (json!({ "name": "x".repeat(101) }), "name"),
        (json!({ "name": "a", "external_id": "" }), "external_id"),
        (json!({ "name": "a", "external_id": taken }), "external_id"),
        (json!({ "name": "a", "plan": "large" }), "plan"),
    ] {
        user.api.post("/profiles", &body).await?.invalid(&[field])?;
    }
    let id = integer(&user.api.post("/profiles", &json!({ "name": "a" })).await?.ok(201)?, "id")?;
    user.api
        .patch(&format!("/profiles/{id}"), &json!({ "external_id": "new" }))
        .await?
        .invalid(&["external_id", "name"])?;
    user.api.get("/profiles?page=0").await?.invalid(&["page"])?;
    Ok(())
}

async fn account_belongs_to_a_profile_or_to_the_user(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let profile = integer(&user.api.post("/profiles", &json!({ "name": "The Harbor" })).await?.ok(201)?, "id")?;
    let (own, theirs) = (user.connect(0).await?, user.connect_for(profile, 0).await?);
    same(&own["profile_id"], &Value::Null, "the profile of the own account")?;
    same(&theirs["profile_id"], &json!(profile), "the profile of the account of the customer")?;
    same(user.connect_for(profile, 0).await?["id"] == theirs["id"], true, "the account is connected once")?;
    let filtered = user.api.get(&format!("/connections?profile_id={profile}")).await?.ok(200)?;
    same(&filtered["data"], &json!([theirs]), "the accounts of the profile")?;

    user.api.delete(&format!("/profiles/{profile}")).await?.is(409)?;
    user.api.delete(&format!("/connections/{}", integer(&theirs, "id")?)).await?.is(204)?;
    user.api.delete(&format!("/profiles/{profile}")).await?.is(204)?;
    for id in ["", "1", "x", &profile.to_string()] {
        let path = format!("/connections/connect/sandbox?profile_id={id}");
        user.api.post(&path, &json!({})).await?.invalid(&["profile_id"])?;
    }
    let in_body = json!({ "profile_id": profile });
    user.api.post("/connections/connect/sandbox", &in_body).await?.invalid(&["profile_id"])?;
    Ok(())
}

async fn post_is_for_the_accounts_of_one_profile(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let profile = integer(&user.api.post("/profiles", &json!({ "name": "The Harbor" })).await?.ok(201)?, "id")?;
    let (own, theirs) = (user.connect(0).await?, user.connect_for(profile, 1).await?);
    let mixed = json!({ "content": fresh("for two"), "platforms": targets(&[&theirs, &own])? });
    user.api.post("/posts", &mixed).await?.invalid(&["platforms.1.connected_account_id"])?;

    let content = fresh("for a customer");
    let id = user.schedule(&content, &[&theirs], 1).await?;
    same(&user.show(id).await?["profile_id"], &json!(profile), "the profile of the post")?;
    user.reaches(id, "published", 30).await?;
    same(deployment.timeline(&content).await?.len(), 1, "how often it is public")?;
    user.create(&json!({ "content": fresh("for nobody yet") })).await?;
    let filtered = user.api.get(&format!("/posts?profile_id={profile}")).await?.ok(200)?;
    same(list(&filtered, "data")?.len(), 1, "the posts of the profile")?;
    for path in ["/posts", "/connections"] {
        for value in ["0", "", "null"] {
            user.api.get(&format!("{path}?profile_id={value}")).await?.invalid(&["profile_id"])?;
        }
    }
    let page = format!("{}/account/posts?show=published&profile=", deployment.origin());
    let of_profile = user.browser.open(&format!("{page}{profile}")).await?;
    ensure!(of_profile.html.contains(&content), "{}", of_profile.test_error("the post of the customer is missing"));
    let of_another = user.browser.open(&format!("{page}{}", profile + 1)).await?;
    ensure!(!of_another.html.contains(&content), "{}", of_another.test_error("the post of another customer"));
    Ok(())
}

async fn profiles_of_other_users_do_not_exist(deployment: &Deployment) -> Result {
    let (user, other) = (deployment.new_user().await?, deployment.new_user().await?);
    let external_id = format!("customer-{}", user.id);
    let body = json!({ "name": "The Harbor", "external_id": external_id });
    let path = format!("/profiles/{}", integer(&user.api.post("/profiles", &body).await?.ok(201)?, "id")?);
    other.api.get(&path).await?.is(404)?;
    other.api.patch(&path, &json!({ "name": "taken over" })).await?.is(404)?;
    other.api.delete(&path).await?.is(404)?;
    let found = other.api.get(&format!("/profiles?external_id={external_id}")).await?.ok(200)?;
    same(&found["data"], &json!([]), "the profiles of the other user")?;
    other.api.post("/profiles", &body).await?.is(201)?;
    Ok(())
}

/// A new profile of a user, and a token that is limited to it on the approval page.
async fn limited(user: &mut User<'_>) -> Result<(i64, Api)> {
    let profile = integer(&user.api.post("/profiles", &json!({ "name": "The Harbor" })).await?.ok(201)?, "id")?;
    let email = user.email.clone();
    let api = user.deployment.limited_grant(&mut user.browser, &email, profile).await?;
    Ok((profile, api))
}

fn ids(list_of: &Value) -> Result<Vec<i64>> {
    list(list_of, "data")?.iter().map(|it| integer(it, "id")).collect()
}

async fn limited_token_sees_only_its_profile(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (profile, limited) = limited(&mut user).await?;
    let other = integer(&user.api.post("/profiles", &json!({ "name": "The Pier" })).await?.ok(201)?, "id")?;
    let accounts = [user.connect(0).await?, user.connect_for(other, 1).await?];
    let theirs = user.connect_for(profile, 2).await?;
    let webhook = json!({ "url": "https://example.com/hook" });
    let webhook = integer(&user.api.post("/webhooks", &webhook).await?.ok(201)?, "id")?;

    same(ids(&limited.get("/connections").await?.ok(200)?)?, vec![integer(&theirs, "id")?], "connections")?;
    same(ids(&limited.get("/profiles").await?.ok(200)?)?, vec![profile], "profiles")?;
    same(ids(&limited.get("/webhooks").await?.ok(200)?)?, vec![], "webhooks")?;
    let mut paths = vec![format!("/profiles/{other}"), format!("/webhooks/{webhook}")];
    for account in &accounts {
        let draft = json!({ "content": fresh("of others"), "platforms": targets(&[account])? });
        limited.post("/posts", &draft).await?.invalid(&["platforms.0.connected_account_id"])?;
        let post = integer(&user.create(&draft).await?, "id")?;
        limited.patch(&format!("/posts/{post}"), &json!({ "content": "taken over" })).await?.is(404)?;
        limited.delete(&format!("/posts/{post}")).await?.is(404)?;
        let connection = integer(account, "id")?;
        limited.delete(&format!("/connections/{connection}")).await?.is(404)?;
        paths.extend([format!("/posts/{post}"), format!("/posts/{post}/attempts")]);
        paths.push(format!("/connections/{connection}"));
    }
    for path in &paths {
        limited.get(path).await?.is(404)?;
    }
    same(ids(&limited.get("/posts").await?.ok(200)?)?, vec![], "posts")?;
    let file = user.picture().await?;
    let with_file = json!({ "content": fresh("with a file"), "media": [file] });
    limited.post("/posts", &with_file).await?.invalid(&["media.0"])?;
    limited.delete(&format!("/webhooks/{webhook}")).await?.is(404)?;
    let connect = format!("/connections/connect/sandbox?profile_id={other}");
    limited.post(&connect, &json!({})).await?.invalid(&["profile_id"])?;
    Ok(())
}

async fn what_a_limited_token_creates_belongs_to_its_profile(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (profile, limited) = limited(&mut user).await?;
    let all = std::mem::replace(&mut user.api, limited);

    let account = user.connect(0).await?;
    same(&account["profile_id"], &json!(profile), "the profile of the account")?;
    same(&user.connect_for(profile, 0).await?["id"], &account["id"], "the account when the profile is named")?;
    let draft = user.create(&json!({ "content": fresh("without accounts") })).await?;
    same(&draft["profile_id"], &json!(profile), "the profile of a post without accounts")?;
    let file = user.picture().await?;
    let content = fresh("of a customer");
    let body =
        json!({ "content": content, "media": [file], "platforms": targets(&[&account])?, "scheduled_at": "now" });
    let post = integer(&user.create(&body).await?, "id")?;
    user.reaches(post, "published", 30).await?;
    let webhook = json!({ "url": "https://example.com/hook" });
    let webhook = user.api.post("/webhooks", &webhook).await?.ok(201)?;
    same(&webhook["profile_id"], &json!(profile), "the profile of the webhook")?;
    let id = integer(&webhook, "id")?;
    same(ids(&user.api.get("/webhooks").await?.ok(200)?)?, vec![id], "the webhooks of the profile")?;
    let page = user.browser.open(&format!("{}/account/webhooks", deployment.origin())).await?;
    let limit = format!("only the events of the customer <bdi>{profile}</bdi>");
    ensure!(page.html.contains(&limit), "{}", page.test_error("the limit of the webhook is not shown"));
    user.api.post(&format!("/webhooks/{id}/rotate"), &json!({})).await?.is(200)?;
    user.api.delete(&format!("/webhooks/{id}")).await?.is(204)?;
    let link = json!({ "profile_id": profile, "return_url": format!("{}/docs", deployment.origin()) });
    user.api.post("/connect-links", &link).await?.is(201)?;
    let (path, name) = (format!("/profiles/{profile}"), json!({ "name": "The Lighthouse" }));
    user.api.post("/profiles", &name).await?.is(403)?;
    user.api.patch(&path, &name).await?.is(403)?;
    user.api.delete(&path).await?.is(403)?;
    user.api.delete(&format!("/connections/{}", integer(&account, "id")?)).await?.is(204)?;

    same(ids(&all.get(&format!("/posts?profile_id={profile}")).await?.ok(200)?)?.len(), 2, "posts of the profile")?;
    let reused = json!({ "content": fresh("with the file of a customer"), "media": [file] });
    all.post("/posts", &reused).await?.is(201)?;
    Ok(())
}

async fn limited_token_ends_with_its_profile(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (profile, limited) = limited(&mut user).await?;
    limited.get("/posts").await?.is(200)?;
    let email = user.email.clone();
    let account = deployment.sign_in(&mut user.browser, &format!("{}/account", deployment.origin()), &email).await?;
    same(account.html.contains("Limited to the profile <bdi>The Harbor</bdi>"), true, "the limit on the account page")?;

    user.api.delete(&format!("/profiles/{profile}")).await?.is(204)?;

    limited.get("/posts").await?.is(401)?;
    user.api.get("/posts").await?.is(200)?;
    Ok(())
}

async fn profile_is_deleted_with_a_request_to_erase_it(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (profile, limited) = limited(&mut user).await?;
    let connection = integer(&user.connect_for(profile, 0).await?, "id")?;
    let path = format!("/profiles/{profile}");
    for raw in ["1", "TRUE", "yes"] {
        user.api.delete(&format!("{path}?erase={raw}")).await?.invalid(&["erase"])?;
    }
    limited.delete(&format!("{path}?erase=true")).await?.is(403)?;
    user.api.delete(&format!("{path}?erase=true")).await?.is(409)?;
    user.api.get(&path).await?.is(200)?;
    user.api.delete(&format!("/connections/{connection}")).await?.is(204)?;

    user.api.delete(&format!("{path}?erase=true")).await?.is(204)?;

    user.api.get(&path).await?.is(404)?;
    user.api.delete(&format!("{path}?erase=true")).await?.is(404)?;
    limited.get("/posts").await?.is(401)?;
    Ok(())
}
