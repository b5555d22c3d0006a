//! The meaning of errors of the API, and what to do next.

pub(crate) fn advice_for_status(status: u16) -> &'static str {
    match status {
        400 => "The request is malformed: an error of the program that sent it, not of the post.",
        401 => "The token is missing, revoked or expired. Ask the person to give access again.",
        403 => {
            "Not permitted: the token lacks a scope, a plan or a budget does not allow the call, or the token is for \
             drafts only. The message names the reason. Leave a draft for the person, or ask them for more access."
        }
        404 => "The person has no post or account with this id. Find the id with list_posts or list_connections.",
        409 => {
            "The first call with this idempotency_key is still running. Wait a few seconds, then call again with \
                the same key and arguments."
        }
        410 => "The connection request has expired. Ask the person to start it again.",
        412 => {
            "The post has changed since you read it. Read it again with get_post, show the person the difference, and \
             call again with its new revision."
        }
        413 => "The request is larger than 256 KiB. Do not put files into a post: use upload_media_from_url.",
        422 => {
            "The request is invalid; the message names the fields and what they accept. Correct them and call again; \
             you can use the same idempotency_key."
        }
        428 => {
            "A drafts-only token wrote this draft, so the person may not have seen it. Show them all of it from \
             get_post, and call change_post with the revision that they agreed to."
        }
        429 => "Too many requests. Wait as long as the message says, then call again.",
        503 => "The service or a platform does not respond. Wait a few seconds and try again.",
        500..=599 => "The service failed. Check with list_posts whether the call took effect before you try again.",
        _ => "Read the message of the error.",
    }
}

pub(crate) fn advice_for_code(code: &str) -> Option<&'static str> {
    Some(match code {
        "has_pending_posts" => {
            "The account cannot be disconnected while posts are scheduled for it. Cancel these posts first, or wait until \
             they are published."
        }
        "unsupported_platform" => "The platform is unknown, or the operator has not set it up. Call list_platforms.",
        "expired" | "expired_token" => "The request has expired. Start again.",
        "access_denied" => "The person denied access. Ask them before you try again.",
        "authorization_pending" => "The person has not decided yet. Wait.",
        "invalid_device_code" | "invalid_grant" => {
            "The code is unknown, has expired or was already used. Start the authorization again."
        }
        _ => return None,
    })
}
