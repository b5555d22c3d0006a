//! The one account, and access to it.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::HeaderMap;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::instance::{Instance, InstanceState, Memory};

pub(crate) const ID: &str = "109348293842938471";
pub(crate) const USERNAME: &str = "keeper";

/// `GET /api/v1/accounts/verify_credentials`
pub(crate) async fn verify_credentials(
    State(instance): InstanceState,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let memory = instance.memory();
    authorize(&memory, &headers, &["profile", "read", "read:accounts"], instance.clock.now())?;
    let privacy = memory.visibility.unwrap_or("public");
    let mut account = view(&instance);
    account["source"] = json!({"privacy": privacy, "sensitive": false, "language": "en", "note": "", "fields": []});
    if memory.hides_visibility {
        account["source"]["privacy"] = Value::Null;
    }
    Ok(Json(account))
}

pub(crate) fn view(instance: &Instance) -> Value {
    let base = instance.base_url();
    json!({
        "id": ID,
        "username": USERNAME,
        "acct": USERNAME,
        "display_name": "The Keeper",
        "locked": false,
        "bot": false,
        "note": "",
        "url": format!("{base}/@{USERNAME}"),
        "uri": format!("{base}/users/{USERNAME}"),
        "avatar": format!("{base}/avatars/original/missing.png"),
        "avatar_static": format!("{base}/avatars/original/missing.png"),
    })
}

/// Accepts a request with a valid token that has any of these scopes.
pub(crate) fn authorize(
    memory: &Memory,
    headers: &HeaderMap,
    any_of: &[&str],
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    memory.oauth.accept(headers, any_of, now).map(|_| ()).map_err(|it| (&it).into())
}
