//! What Google's platforms share: OAuth, hosts, and the meaning of errors.
//!
//! Facts (`identity/protocols/oauth2/web-server`, `oauth2/resources/granular-permissions`, `google.rpc.ErrorInfo`):
//!
//! - A refresh token is issued for `access_type=offline`, and with `prompt=consent` each time. A refresh returns no new
//!   one.
//! - Users may decline single scopes where an app requests several.
//! - A revocation ends everything that the user granted to the app.

use url::Url;

use crate::app::NoExtraSecrets;
use crate::kit::{ErrorKind, ErrorRule, ErrorTable};
use crate::oauth2::{ClientAuth, Dialect, Endpoints, OAuth2, TokenCall};
use crate::setup::{self, Setup};

const DIALECT: Dialect = Dialect {
    page: &[("access_type", "offline"), ("prompt", "consent")],
    // The token alone authorizes this call.
    revocation: TokenCall { client: ClientAuth::None, ..TokenCall::REVOCATION },
    ..Dialect::STANDARD
};

/// The errors of Google's APIs. A platform adds its title, and the rules below that apply to it.
pub(crate) const ERRORS: ErrorTable = ErrorTable {
    title: "Google",
    code_at: &["/error/status", "/error/errors/*/reason", "/error/details/*/reason", QUOTA_LIMIT],
    message_at: &["/error/message"],
    is_own: |it| it["error"].is_object(),
    is_error: |it| it["error"].is_object(),
    ..ErrorTable::STANDARD
};

/// The exceeded limit, as a code.
const QUOTA_LIMIT: &str = "/error/details/*/metadata/quota_limit_value";

/// Also where Google has not granted the API to the operator's project.
pub(crate) const API_DISABLED: ErrorRule = ErrorRule::codes(&["SERVICE_DISABLED", "accessNotConfigured"])
    .kind(ErrorKind::AppMisconfigured)
    .user_message("The Google Cloud project of this service may not use this API. Ask the operator to enable it.");

/// Google has not granted the API to the operator's project, although it is enabled.
pub(crate) const NO_QUOTA: ErrorRule =
    ErrorRule::status(429).and_codes(&["0"]).kind(ErrorKind::AppMisconfigured).user_message(
        "The Google Cloud project of this service has no quota. Ask the operator to request access to the API.",
    );

pub(crate) const SCOPE_MISSING: ErrorRule =
    ErrorRule::codes(&["ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientPermissions"])
        .kind(ErrorKind::Unauthorized)
        .user_message("A permission is missing: connect again, and leave every box on Google's page ticked.");

/// One of Google's hosts. A URL in the settings replaces all of them.
pub(crate) fn host(url: Option<&Url>, official: &str) -> Url {
    url.cloned().unwrap_or_else(|| setup::official(official))
}

/// For the app that the operator stored under `name`.
pub(crate) fn oauth(setup: &Setup, name: &'static str, url: Option<&Url>) -> OAuth2 {
    let at = |official, path| format!("{}{path}", host(url, official).as_str().trim_end_matches('/'));
    let endpoints = Endpoints {
        authorization: at("https://accounts.google.com", "/o/oauth2/v2/auth"),
        token: at("https://oauth2.googleapis.com", "/token"),
        revocation: Some(at("https://oauth2.googleapis.com", "/revoke")),
        ..Endpoints::default()
    };
    OAuth2::new(setup.http.clone(), setup.app::<NoExtraSecrets>(name), &DIALECT, endpoints)
}
