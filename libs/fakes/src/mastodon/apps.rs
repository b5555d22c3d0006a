use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use url::Url;

use super::api_error::ApiError;
use super::instance::InstanceState;
use crate::fake::oauth::{App, secret};
use crate::fake::params::Params;

/// `POST /api/v1/apps`
pub(crate) async fn register(State(instance): InstanceState, params: Params) -> Result<Json<Value>, ApiError> {
    let differences = instance.differences;
    let name = params.text("client_name").ok_or_else(|| ApiError::invalid("Name can't be blank"))?;
    let redirect_uris = redirect_uris(&params, differences.lists_of_redirect_uris)?;
    let scopes = instance.memory().oauth.scopes(params.text("scopes").as_deref().unwrap_or("read"));
    let known = scopes.iter().all(|it| differences.scopes.contains(&it.as_str()));
    if differences.checks_scopes_of_apps && !known {
        return Err(ApiError::invalid("Scopes doesn't match configured on the server."));
    }
    let website = params.text("website");
    if website.as_ref().is_some_and(|it| !it.starts_with("https://") && !it.starts_with("http://")) {
        return Err(ApiError::invalid("Website is invalid"));
    }

    let mut memory = instance.memory();
    let id = memory.next_id(instance.clock.now()).to_string();
    let (client_id, client_secret) = (secret(), secret());
    let mut view = json!({
        "id": id,
        "name": name,
        "website": website,
        "redirect_uri": redirect_uris.join("\n"),
        "client_id": client_id,
        "client_secret": client_secret,
        "vapid_key": null,
    });
    if differences.lists_of_redirect_uris {
        view["client_secret_expires_at"] = json!(0);
        view["redirect_uris"] = json!(redirect_uris);
        view["scopes"] = json!(scopes);
    }
    memory.oauth.apps.push(App { client_id, client_secret, redirect_uris, scopes, removed: false });
    Ok(Json(view))
}

/// The redirect URIs: one string with one URI per line, or a list if the server accepts lists.
fn redirect_uris(params: &Params, lists: bool) -> Result<Vec<String>, ApiError> {
    let mut uris = if lists { params.list("redirect_uris") } else { Vec::new() };
    uris.extend(params.text("redirect_uris").iter().flat_map(|it| it.split_whitespace()).map(str::to_owned));
    if uris.is_empty() {
        return Err(ApiError::invalid("Redirect URI can't be blank"));
    }
    for uri in &uris {
        let url = Url::parse(uri).map_err(|_| ApiError::invalid("Redirect URI must be an absolute URI."))?;
        if url.fragment().is_some() {
            return Err(ApiError::invalid("Redirect URI cannot contain a fragment."));
        }
        if ["data", "vbscript", "javascript"].contains(&url.scheme()) {
            return Err(ApiError::invalid("Redirect URI is forbidden by the server."));
        }
    }
    Ok(uris)
}
