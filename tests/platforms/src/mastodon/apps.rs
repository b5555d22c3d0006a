//! Registering apps, and authenticating them.

use axum::Json;
use axum::extract::State;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};
use url::Url;

use super::instance::apps::App;
use super::instance::{Here, Memory};
use super::params::Params;
use super::refusal::Refusal;

/// `POST /api/v1/apps`
pub(crate) async fn register(State(here): Here, params: Params) -> Result<Json<Value>, Refusal> {
    let differences = here.differences;
    let name = params.text("client_name").ok_or_else(|| Refusal::invalid("Name can't be blank"))?;
    let redirect_uris = redirect_uris(&params, differences.lists_of_redirect_uris)?;
    let scopes = scopes(params.text("scopes").as_deref().unwrap_or("read"));
    let known = scopes.iter().all(|it| differences.scopes.contains(&it.as_str()));
    if differences.checks_scopes_of_apps && !known {
        return Err(Refusal::invalid("Scopes doesn't match configured on the server."));
    }
    let website = params.text("website");
    if website.as_ref().is_some_and(|it| !it.starts_with("https://") && !it.starts_with("http://")) {
        return Err(Refusal::invalid("Website is invalid"));
    }

    let mut memory = here.memory();
    let id = memory.next_id(here.clock.now()).to_string();
    let (client_id, client_secret) = (here.secret(&mut memory), here.secret(&mut memory));
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
    memory.apps.push(App { client_id, client_secret, redirect_uris, scopes, removed: false });
    Ok(Json(view))
}

/// The redirect URIs: one string of lines, or a list where the server knows lists.
fn redirect_uris(params: &Params, lists: bool) -> Result<Vec<String>, Refusal> {
    let mut uris = if lists { params.list("redirect_uris") } else { Vec::new() };
    uris.extend(params.text("redirect_uris").iter().flat_map(|it| it.split_whitespace()).map(str::to_owned));
    if uris.is_empty() {
        return Err(Refusal::invalid("Redirect URI can't be blank"));
    }
    for uri in &uris {
        let url = Url::parse(uri).map_err(|_| Refusal::invalid("Redirect URI must be an absolute URI."))?;
        if url.fragment().is_some() {
            return Err(Refusal::invalid("Redirect URI cannot contain a fragment."));
        }
        if ["data", "vbscript", "javascript"].contains(&url.scheme()) {
            return Err(Refusal::invalid("Redirect URI is forbidden by the server."));
        }
    }
    Ok(uris)
}

/// The scopes of a parameter, separated by spaces.
pub(crate) fn scopes(raw: &str) -> Vec<String> {
    raw.split_whitespace().map(str::to_owned).collect()
}

/// The app whose id and secret a request brings, in its headers or parameters.
pub(crate) fn authenticated(memory: &Memory, headers: &HeaderMap, params: &Params) -> Option<App> {
    let (client_id, client_secret) =
        basic(headers).or_else(|| Some((params.text("client_id")?, params.text("client_secret")?)))?;
    memory.apps.iter().find(|it| it.client_id == client_id && it.client_secret == client_secret).cloned()
}

fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let encoded = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Basic ")?;
    let pair = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let (id, secret) = pair.split_once(':')?;
    Some((id.to_owned(), secret.to_owned()))
}
