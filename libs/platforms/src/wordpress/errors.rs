use serde_json::Value;

use super::json::find_json;
use crate::html::plain;
use crate::kit::{ErrorKind, ErrorRule, ErrorTable};

pub(super) const NO_POST: &str = "rest_post_invalid_id";

/// The application password does not exist. Before version 5.7, also the response to `introspect`.
pub(super) const NO_PASSWORD: &str = "rest_application_password_not_found";

/// The name of a category or tag is taken; the response has its id.
pub(super) const TERM_EXISTS: &str = "term_exists";

/// Files that the site will refuse again, although the status is 500.
const REFUSED_FILES: &[&str] = &["rest_upload_file_error", "rest_upload_sideload_error", "rest_upload_unknown_error"];

pub(super) const ERRORS: ErrorTable =
    ErrorTable {
        title: "the site",
        // The error of one parameter is nested in that of the request.
        code_at: &["/code", "/data/details/status/data/status"],
        message: Some(message),
        json_of: find_json,
        // WordPress repeats the status in the body. Firewalls and gateways with JSON do not.
        is_own: |it| it["code"].is_string() && it["data"]["status"].is_u64(),
        rules: &[
            ErrorRule::codes(&[NO_POST]).kind(ErrorKind::PreparationExpired),
            // Application passwords are disabled. The codes of a wrong password come with 401.
            ErrorRule::codes(&["application_passwords_disabled", "application_passwords_disabled_for_user"])
                .kind(ErrorKind::Unauthorized),
            ErrorRule::status(401).and_codes(&["rest_not_logged_in"]).kind(ErrorKind::Unauthorized).user_message(
                "the site does not accept the application password, or its host removes it from requests",
            ),
            // Drafts are listed only for signed-in users: for others, the status is an invalid
            // parameter. Version 5.6 does not report for whom it would be valid.
            ErrorRule::status(400).and_codes(&["401"]).kind(ErrorKind::Unauthorized),
            ErrorRule::status(400).and_codes(&["403"]).kind(ErrorKind::Forbidden),
            ErrorRule::status(400)
                .and_codes(&["rest_invalid_param"])
                .and_has("/data/params/status")
                .kind(ErrorKind::Unauthorized),
            ErrorRule::status(403).and_codes(&["rest_cannot_publish"]).kind(ErrorKind::Forbidden).user_message(
                "the account may not publish: ask an administrator of the site for the role of an author",
            ),
            ErrorRule::codes(&["rest_no_route"])
                .kind(ErrorKind::InvalidPost)
                .user_message("its REST API is closed: check which plugin closes it"),
            // PHP drops a request that is longer than `post_max_size`.
            ErrorRule::codes(&["rest_upload_no_data"])
                .kind(ErrorKind::InvalidPost)
                .user_message("the file is larger than the site accepts"),
            ErrorRule::codes(REFUSED_FILES).kind(ErrorKind::InvalidPost),
            // The PHP process that handled the call has ended.
            ErrorRule::status(500).kind(ErrorKind::ServerError).ended(),
        ],
        ..ErrorTable::STANDARD
    };

fn message(body: &Value) -> Option<String> {
    body["message"].as_str().map(|it| plain(&without_tags(it)))
}

fn without_tags(html: &str) -> String {
    let mut depth = 0_usize;
    let is_shown = |it: &char| {
        match it {
            '<' => depth += 1,
            '>' if 0 < depth => {
                depth -= 1;
                return false;
            }
            _ => {}
        }
        depth == 0
    };
    html.chars().filter(is_shown).collect()
}

#[cfg(test)]
mod tests {
    use chrono::Utc;
    use http::{HeaderMap, StatusCode};
    use serde_json::json;

    use super::*;
    use crate::kit::{CallError, Effect};

    fn call_error(status: u16, body: &Value) -> CallError {
        let code = StatusCode::from_u16(status).unwrap();
        ERRORS.classify(Effect::Public, code, &HeaderMap::new(), body.to_string().as_bytes(), Utc::now())
    }

    fn refused(status: u16, code: &str) -> CallError {
        call_error(status, &json!({ "code": code, "message": "", "data": { "status": status } }))
    }

    #[test]
    fn code_and_status_decide_the_kind() {
        for (status, code, kind) in [
            (401, "rest_not_logged_in", ErrorKind::Unauthorized),
            (401, "rest_cannot_create", ErrorKind::Unauthorized),
            (401, "incorrect_password", ErrorKind::Unauthorized),
            (501, "application_passwords_disabled", ErrorKind::Unauthorized),
            (403, "rest_cannot_publish", ErrorKind::Forbidden),
            (404, "rest_no_route", ErrorKind::InvalidPost),
            (404, NO_POST, ErrorKind::PreparationExpired),
            (400, "rest_invalid_param", ErrorKind::InvalidPost),
            (500, "rest_upload_sideload_error", ErrorKind::InvalidPost),
            (429, "too_many", ErrorKind::RateLimited),
            (500, "internal_server_error", ErrorKind::ServerError),
        ] {
            assert_eq!(refused(status, code).kind, kind, "{status} {code}");
        }
        assert!(refused(500, "internal_server_error").has_ended);
    }

    #[test]
    fn unlisted_drafts_mean_a_lost_password() {
        let kind_for = |details: &Value| {
            let data = json!({ "status": 400, "params": { "status": "Status is forbidden." }, "details": details });
            call_error(400, &json!({ "code": "rest_invalid_param", "message": "Invalid", "data": data })).kind
        };
        let details =
            |status: u16| json!({ "status": { "code": "rest_forbidden_status", "data": { "status": status } } });
        assert_eq!(kind_for(&details(401)), ErrorKind::Unauthorized);
        assert_eq!(kind_for(&details(403)), ErrorKind::Forbidden);
        assert_eq!(kind_for(&Value::Null), ErrorKind::Unauthorized, "version 5.6");
    }

    #[test]
    fn json_of_an_intermediary_does_not_end_the_connection() {
        for body in [json!({ "code": 401, "message": "Unauthorized" }), json!({ "code": "blocked", "message": "No." })]
        {
            let error = call_error(401, &body);
            assert_eq!(error.kind, ErrorKind::Intermediary, "{body}");
            assert!(error.message.starts_with("a proxy or firewall in front of the site"), "{}", error.message);
        }
    }

    #[test]
    fn user_message_has_no_html_tags() {
        let body = json!({
            "code": "rest_no_route", "message": "<p>No <a href='x'>route</a> &amp; more.</p>", "data": { "status": 404 },
        });
        let message = call_error(404, &body).message;
        assert_eq!(message, "its REST API is closed: check which plugin closes it (No route & more.)");
    }
}
