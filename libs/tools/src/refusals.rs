//! What a refusal of the API means, and what to do next.

/// What to do after a refusal with this status.
pub(crate) fn of_status(status: u16) -> &'static str {
    match status {
        400 => "What was sent cannot be read at all: this is a fault of the program, not of the post.",
        401 => "The token is missing, revoked or expired. The person has to give access again.",
        403 => {
            "It is not permitted: the token lacks a scope, a plan or a budget does not allow it, or the token is for \
             drafts only. The message says which. Leave a draft for the person, or ask them for more access."
        }
        404 => {
            "There is nothing with this id among the things of this person. Look it up with list_posts or \
                list_connections."
        }
        409 => {
            "The first call with this idempotency_key is still running. Wait a few seconds, then call again with \
                the same key and arguments."
        }
        410 => "It took too long and has ended. Begin again.",
        412 => {
            "The post was changed since it was read. Read it again with get_post, show the person what is different, and \
             call again with its new revision."
        }
        413 => "It is larger than 256 KiB. Files do not go into a post: use upload_media_from_url.",
        422 => {
            "Something in the request is invalid; the message names each field and what it may be. Correct these \
             fields and call again: the same idempotency_key can be used."
        }
        428 => {
            "A token for drafts wrote this draft, so it may not be what the person has seen. Show them all of it from \
             get_post, and call change_post with the revision that they agreed to."
        }
        429 => "Too many requests, or too many at a time. Wait as long as the message says.",
        503 => "The service or a platform does not answer for a moment. Wait a few seconds and try again.",
        500..=599 => "Something failed inside the service. Look with list_posts what happened before you try again.",
        _ => "The message says what is wrong.",
    }
}

/// What the word for programs in a refusal means.
pub(crate) fn of_code(code: &str) -> Option<&'static str> {
    Some(match code {
        "has_pending_posts" => {
            "The account cannot be disconnected while posts wait to go to it. Cancel these posts first, or wait until \
             they are out."
        }
        "unsupported_platform" => "There is no such platform here, or its operator has not set it up: list_platforms.",
        "expired" | "expired_token" => "It took too long and has ended. Begin again.",
        "access_denied" => "The person said no. Ask them before you try again.",
        "authorization_pending" => "The person has not decided yet. Wait.",
        "invalid_device_code" | "invalid_grant" => {
            "The code is unknown, has expired or was used. Begin giving access from the start."
        }
        _ => return None,
    })
}
