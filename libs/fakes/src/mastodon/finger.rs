//! Account discovery.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::json;

use super::account::USERNAME;
use super::instance::InstanceState;
use crate::fake::params::Params;

/// `GET /.well-known/webfinger`
pub(crate) async fn web_finger(State(instance): InstanceState, params: Params) -> Response {
    let Some(resource) = params.text("resource") else { return StatusCode::BAD_REQUEST.into_response() };
    let account = format!("acct:{USERNAME}@{}", instance.domain());
    if resource.eq_ignore_ascii_case(&account) {
        descriptor(&account, instance.base_url())
    } else {
        StatusCode::NOT_FOUND.into_response()
    }
}

/// `GET /.well-known/host-meta`
pub(crate) async fn host_meta(State(instance): InstanceState) -> Response {
    host_descriptor(instance.base_url())
}

/// The `WebFinger` response for an account on the server at `base_url` (RFC 7033).
pub(super) fn descriptor(subject: &str, base_url: &str) -> Response {
    let page = format!("{base_url}/@{USERNAME}");
    let own = format!("{base_url}/users/{USERNAME}");
    let links = json!([
        {"rel": "http://webfinger.net/rel/profile-page", "type": "text/html", "href": page},
        {"rel": "self", "type": "application/activity+json", "href": own},
        {"rel": "http://ostatus.org/schema/1.0/subscribe", "template": format!("{base_url}/authorize_interaction?uri={{uri}}")},
    ]);
    let body = json!({"subject": subject, "aliases": [page, own], "links": links});
    ([(header::CONTENT_TYPE, "application/jrd+json; charset=utf-8")], body.to_string()).into_response()
}

/// The host-meta response for a host whose accounts are on the server at `base_url` (RFC 6415).
pub(super) fn host_descriptor(base_url: &str) -> Response {
    let xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<XRD xmlns=\"http://docs.oasis-open.org/ns/xri/xrd-1.0\">\n  \
         <Link rel=\"lrdd\" template=\"{base_url}/.well-known/webfinger?resource={{uri}}\"/>\n</XRD>\n"
    );
    ([(header::CONTENT_TYPE, "application/xrd+xml; charset=utf-8")], xml).into_response()
}
