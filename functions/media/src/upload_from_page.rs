//! `POST /account/files`: like `POST /media`, for the page of a post, with the browser's session
//! instead of a token. The header `x-csrf-token` proves that a page of ours sent the request.

use api::{ApiError, ClientIp, RequestBody, SignedIn};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;

use crate::App;
use crate::create_medium::NOT_IN_PLAN;

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
        session.audit_plan_refusal(address, NOT_IN_PLAN);
        return Err(ApiError::Forbidden(NOT_IN_PLAN.to_owned()).into_response());
    }
    Ok(app.respond_to(session.user.into(), None, None, incoming, &headers).await.into_response())
}
