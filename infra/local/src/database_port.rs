//! The database for functions in other processes: the listener accepts only requests that are
//! signed with the secret of this run, and none from a web page.

mod signature;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use domain::clock::Clock;
use http::{StatusCode, header};

use server::{CONTENT_TYPE, InProcessDatabase, Secret};

use crate::hosts::Hosts;

/// The largest request of DynamoDB, in bytes.
const MAX_BODY: usize = 16 << 20;

#[derive(Clone)]
struct Listener {
    database: InProcessDatabase,
    secret: Secret,
    hosts: Hosts,
    clock: Clock,
}

pub(crate) fn router(database: InProcessDatabase, secret: Secret, hosts: Hosts, clock: Clock) -> Router {
    Router::new().route("/", post(respond)).with_state(Listener { database, secret, hosts, clock })
}

async fn respond(State(listener): State<Listener>, request: Request) -> Response {
    // Browsers send the origin of the page, and let a page name any host whose name server it
    // controls. No page needs the database.
    if request.headers().contains_key(header::ORIGIN) {
        return refuse(StatusCode::FORBIDDEN, "AccessDeniedException", "web pages may not call this database");
    }
    if !listener.hosts.name(&request) {
        let text = "this database is not known by that name";
        return refuse(StatusCode::MISDIRECTED_REQUEST, "AccessDeniedException", text);
    }
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "ValidationException", "the request is too large");
    };
    if !signature::is_good(&head, &body, &listener.secret, listener.clock.now()) {
        let text = "sign with the access key and the secret that cargo dev printed when it started";
        return refuse(StatusCode::FORBIDDEN, "UnrecognizedClientException", text);
    }
    let target = head.headers.get("x-amz-target").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let respond = listener.database.respond(target, body.into()).await;
    let status = StatusCode::from_u16(respond.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, CONTENT_TYPE)], Body::from(respond.json)).into_response()
}

fn refuse(status: StatusCode, kind: &str, message: &str) -> Response {
    let json = serde_json::json!({ "__type": format!("com.amazon.coral.service#{kind}"), "message": message });
    (status, [(header::CONTENT_TYPE, CONTENT_TYPE)], json.to_string()).into_response()
}

#[cfg(test)]
mod tests;
