use api::openapi::{BadBody, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiResult, Caller, FieldValue, HeldToken, RequestBody};
use axum::Json;
use axum::extract::State;
use cloud::audit;
use contract::{NewWebhook, WebhookWithSecret};
use domain::validation_errors::ValidationErrors;
use domain::webhook::{Creator, MAX_ENDPOINTS};
use http::StatusCode;

use crate::App;
use crate::error::api_error;
use crate::request;
use crate::response::with_secret_view;

#[utoipa::path(
    post,
    path = "/api/v1/webhooks",
    operation_id = "webhook.store",
    tag = WEBHOOKS,
    summary = "Create a webhook",
    description = "The response contains the secret that signs the messages. It is not shown again. A user can have at most 10 webhooks. A new webhook is `unverified`: it receives events after it has responded to a `webhook.test` with 2xx. Messages follow Standard Webhooks (standardwebhooks.com): verify them with its libraries.",
    security(("token" = [])),
    request_body(content = NewWebhook),
    responses((status = 201, description = "The webhook and its secret", body = WebhookWithSecret), Refused, BadBody)
)]
pub(crate) async fn create_webhook(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    token: HeldToken,
    incoming: RequestBody,
) -> ApiResult<(StatusCode, Json<WebhookWithSecret>)> {
    let mut fields = incoming.fields(request::FIELDS)?;
    let url = match request::url(&app, &mut fields) {
        FieldValue::Value(url) => Some(url),
        FieldValue::Invalid => None,
        FieldValue::Absent | FieldValue::Null => {
            fields.add("url", "is required");
            None
        }
    };
    let events = request::events(&mut fields).value().unwrap_or_default();
    let Some(url) = fields.finish(url)? else { return Err(ValidationErrors::one("url", "is required").into()) };

    let HeldToken { id, grant, .. } = token;
    let creator =
        Creator { token: id.to_string(), client_name: grant.client_name.clone(), client_id: grant.client_id.clone() };
    let created = app
        .webhooks
        .create_endpoint(caller.user_id(), caller.of_profile.clone(), url, events, Some(creator))
        .await
        .map_err(api_error)?;
    let Some((record, secret)) = created else {
        let message = format!("cannot be added: you have {MAX_ENDPOINTS} webhooks, the maximum; delete one first");
        return Err(ValidationErrors::one("url", message).into());
    };
    audit::Entry::new(audit::Event::WebhookMade).user(caller.user_id()).token(&id).address(caller.ip).write();
    Ok((StatusCode::CREATED, Json(with_secret_view(&record, &secret, app.api.clock.now()))))
}
