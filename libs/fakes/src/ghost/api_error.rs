use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

/// `{"errors": [{"message", "context", "type", "code"}]}`
#[derive(Debug)]
pub(super) struct ApiError {
    status: u16,
    kind: &'static str,
    code: Option<&'static str>,
    message: String,
    context: Option<String>,
}

impl ApiError {
    pub(super) fn new(status: u16, kind: &'static str, message: &str) -> Self {
        Self { status, kind, code: None, message: message.to_owned(), context: None }
    }

    fn with_code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    pub(super) fn unknown_key() -> Self {
        Self::new(401, "UnauthorizedError", "Unknown Admin API Key").with_code("UNKNOWN_ADMIN_API_KEY")
    }

    pub(super) fn invalid_token(reason: &str) -> Self {
        Self::new(401, "UnauthorizedError", &format!("Invalid token: {reason}")).with_code("INVALID_JWT")
    }

    pub(super) fn no_post() -> Self {
        Self::new(404, "NotFoundError", "Resource not found error, cannot read post.")
    }

    pub(super) fn collision() -> Self {
        let message = "Saving failed! Someone else is editing this post.";
        Self::new(409, "UpdateCollisionError", message).with_code("UPDATE_COLLISION")
    }

    /// The request has no token.
    pub(super) fn unauthorized() -> Self {
        Self::new(403, "NoPermissionError", "Authorization failed")
    }

    pub(super) fn invalid(field: &str) -> Self {
        Self {
            context: Some(format!("Validation failed for {field}.")),
            ..Self::new(422, "ValidationError", "Validation error, cannot edit post.")
        }
    }

    pub(super) fn no_newsletter() -> Self {
        Self {
            context: Some("The post does not have a newsletter relation".to_owned()),
            ..Self::new(500, "EmailError", "Error sending email!")
        }
    }

    pub(super) fn forbidden() -> Self {
        Self::new(403, "NoPermissionError", "You do not have permission to perform this action")
    }

    /// The key may not call this.
    pub(super) fn closed() -> Self {
        Self::new(403, "NoPermissionError", "API tokens do not have permission to access this endpoint")
    }

    pub(super) fn internal() -> Self {
        Self::new(500, "InternalServerError", "An unexpected error occurred, please try again.")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self { status, kind, code, message, context } = self;
        let error: Value = json!({
            "message": message, "context": context, "type": kind, "details": null, "property": null, "help": null,
            "code": code, "id": "3f3c2b40-8a2b-11f0-9d4c-0242ac120002", "ghostErrorCode": null,
        });
        let status = StatusCode::from_u16(status).expect("it is one");
        (status, Json(json!({ "errors": [error] }))).into_response()
    }
}
