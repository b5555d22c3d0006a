//! Error responses.

use axum::Json;
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

/// `{"code", "message", "data": {"status"}}`
#[derive(Debug)]
pub(super) struct ApiError {
    status: u16,
    code: &'static str,
    message: String,
    further: Vec<(&'static str, Value)>,
    header: Option<(&'static str, u64)>,
}

impl ApiError {
    pub(super) fn new(status: u16, code: &'static str, message: &str) -> Self {
        Self { status, code, message: message.to_owned(), further: Vec::new(), header: None }
    }

    pub(super) fn not_logged_in() -> Self {
        Self::new(401, "rest_not_logged_in", "You are not currently logged in.")
    }

    /// The account lacks the permission, or the caller is not signed in.
    pub(super) fn forbidden(is_signed_in: bool, code: &'static str, message: &str) -> Self {
        Self::new(if is_signed_in { 403 } else { 401 }, code, message)
    }

    pub(super) fn no_route() -> Self {
        Self::new(404, "rest_no_route", "No route was found matching the URL and request method.")
    }

    pub(super) fn no_post() -> Self {
        Self::new(404, "rest_post_invalid_id", "Invalid post ID.")
    }

    pub(super) fn no_password() -> Self {
        Self::new(404, "rest_application_password_not_found", "Application password not found.")
    }

    pub(super) fn invalid(parameter: &str, why: &str) -> Self {
        let refusal = Self::new(400, "rest_invalid_param", &format!("Invalid parameter(s): {parameter}"));
        refusal.with("params", json!({ parameter: why }))
    }

    /// The account may not read drafts, or the caller is not signed in (`sanitize_post_statuses`).
    pub(super) fn forbidden_status(is_signed_in: bool) -> Self {
        let (status, why) = (if is_signed_in { 403 } else { 401 }, "Status is forbidden.");
        let details = json!({ "code": "rest_forbidden_status", "message": why, "data": { "status": status } });
        Self::invalid("status", why).with("details", json!({ "status": details }))
    }

    fn with(mut self, name: &'static str, value: Value) -> Self {
        self.further.push((name, value));
        self
    }

    pub(super) fn with_header(self, name: &'static str, value: u64) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    pub(super) fn upload_error(message: &str) -> Self {
        Self::new(500, "rest_upload_unknown_error", message)
    }

    pub(super) fn term_exists(id: u64) -> Self {
        let refusal = Self::new(400, "term_exists", "A term with the name provided already exists in this taxonomy.");
        refusal.with("term_id", id.into())
    }

    /// The response after a crash of PHP.
    pub(super) fn critical_error() -> Self {
        let message = "<p>There has been a critical error on this website.</p><p><a href=\"https://wordpress.org/\
                       documentation/article/faq-troubleshooting/\">Learn more.</a></p>";
        Self::new(500, "internal_server_error", message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut data = json!({ "status": self.status });
        for (name, value) in self.further {
            data[name] = value;
        }
        let body = json!({ "code": self.code, "message": self.message, "data": data });
        let mut response = (StatusCode::from_u16(self.status).expect("it is one"), Json(body)).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value.into());
        }
        response
    }
}

/// An HTML page.
pub(super) fn page(status: StatusCode, says: &str) -> Response {
    (status, Html(format!("<!DOCTYPE html>\n<html><body><p>{says}</p></body></html>\n"))).into_response()
}
