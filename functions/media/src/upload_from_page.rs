//! `POST /account/files`: like `POST /media`, for the page of a post. The session of the browser
//! stands for the token, and the header `x-csrf-token` shows that a page of ours sent the request.

use api::{ApiError, ClientIp, RequestBody, SignedIn};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use cloud::audit::{self, Event};
use http::HeaderMap;

use crate::App;
use crate::create_medium::NOT_IN_PLAN;
use crate::request::CreateMedium;

pub(crate) async fn upload_from_page(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    headers: HeaderMap,
    incoming: RequestBody,
) -> Result<Response, Response> {
    let csrf = headers.get("x-csrf-token").and_then(|it| it.to_str().ok()).unwrap_or_default();
    session.check(csrf).map_err(IntoResponse::into_response)?;
    if !app.plans.named(session.person().plan.as_deref()).media {
        audit::Entry::new(Event::PlanRefused).user(session.user).address(address.0).why(NOT_IN_PLAN).write();
        return Err(ApiError::Forbidden(NOT_IN_PLAN.to_owned()).into_response());
    }
    let parsed = CreateMedium::parse(incoming, &headers, &app.limits);
    let (request, key) = parsed.map_err(IntoResponse::into_response)?;
    let created = app.create_once(session.user, request, key).await;
    Ok(created.map_err(|error| ApiError::from(error).into_response())?.into_response())
}
