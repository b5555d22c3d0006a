use crate::kit::{ErrorKind, ErrorRule, ErrorTable};

/// The post was changed on the site since it was read.
const COLLISION: &str = "UPDATE_COLLISION";

/// The post, or the slug, does not exist.
pub(super) const NOT_FOUND: &str = "NotFoundError";

pub(super) const ERRORS: ErrorTable = ErrorTable {
    title: "the site",
    // Version 4 and the Content API call the type `errorType`.
    code_at: &["/errors/0/type", "/errors/0/errorType", "/errors/0/code"],
    message_at: &["/errors/0/context", "/errors/0/message"],
    is_own: |it| it["errors"][0]["type"].is_string() || it["errors"][0]["errorType"].is_string(),
    rules: &[
        // Our clock differs from that of the site by minutes.
        ErrorRule::status(401)
            .message_contains(&["jwt expired", "maxage exceeded"])
            .kind(ErrorKind::Unavailable)
            .user_message("the clock of the site differs by minutes from the clock of this service"),
        ErrorRule::status(401).kind(ErrorKind::Unauthorized).user_message(
            "the site does not accept the Admin API key: copy it again from the integration, in the settings of Ghost",
        ),
        // The answer to a request without the header that has the token.
        ErrorRule::status(403).message_contains(&["authorization failed"]).kind(ErrorKind::Unauthorized).user_message(
            "the site did not receive the key: its host seems to remove the Authorization header from requests",
        ),
        ErrorRule::codes(&["HostLimitError"]).kind(ErrorKind::Forbidden),
        // With the status 500, for an unknown newsletter.
        ErrorRule::codes(&["EmailError"])
            .message_contains(&["does not have a newsletter relation"])
            .kind(ErrorKind::InvalidPost)
            .user_message("option newsletter: the site has no active newsletter with this value"),
        // A person saved the draft between our read and our call, or an intermediary sent our call twice.
        ErrorRule::codes(&[COLLISION]).kind(ErrorKind::ServerError).ended(),
        ErrorRule::codes(&[NOT_FOUND]).kind(ErrorKind::InvalidPost).user_message("the draft was deleted on the site"),
    ],
    ..ErrorTable::STANDARD
};
