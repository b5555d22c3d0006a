//! Profiles: the customers of a user.

use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, fresh, targets},
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
        (json!({ "name": "x".repeat(101) }), "name"),
        (json!({ "name": "a", "external_id": taken }), "external_id"),
        (json!({ "name": "a", "plan": "large" }), "plan"),
    ] {
        user.api.post("/profiles", &body).await?.invalid(&[field])?;
    }
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
    let refused = user.api.post(&format!("/connections/connect/sandbox?profile_id={profile}"), &json!({})).await?;
    refused.invalid(&["profile_id"])?;
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
    user.api.get("/posts?profile_id=0").await?.invalid(&["profile_id"])?;
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
