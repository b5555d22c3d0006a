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
    term_id: Option<u64>,
}

impl ApiError {
    pub(super) fn new(status: u16, code: &'static str, message: &str) -> Self {
        Self { status, code, message: message.to_owned(), term_id: None }
    }

    pub(super) fn not_logged_in() -> Self {
        Self::new(401, "rest_not_logged_in", "You are not currently logged in.")
    }

    pub(super) fn no_route() -> Self {
        Self::new(404, "rest_no_route", "No route was found matching the URL and request method.")
    }

    pub(super) fn no_post() -> Self {
        Self::new(404, "rest_post_invalid_id", "Invalid post ID.")
    }

    pub(super) fn invalid(parameter: &str) -> Self {
        Self::new(400, "rest_invalid_param", &format!("Invalid parameter(s): {parameter}"))
    }

    pub(super) fn refused_file() -> Self {
        Self::new(500, "rest_upload_unknown_error", "Sorry, you are not allowed to upload this file type.")
    }

    pub(super) fn term_exists(id: u64) -> Self {
        let message = "A term with the name provided already exists in this taxonomy.";
        Self { term_id: Some(id), ..Self::new(400, "term_exists", message) }
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
        let Self { status, code, message, term_id } = self;
        let mut data = json!({ "status": status });
        if let Some(id) = term_id {
            data["term_id"] = Value::from(id);
        }
        let body = json!({ "code": code, "message": message, "data": data });
        (StatusCode::from_u16(status).expect("it is one"), Json(body)).into_response()
    }
}

pub(super) fn page(status: StatusCode, says: &str) -> Response {
    (status, Html(format!("<!DOCTYPE html>\n<html><body><p>{says}</p></body></html>\n"))).into_response()
}
