//! What a tool answers.

use client::Error;
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;

/// What a tool answers: a sentence, and what it is about.
pub(crate) struct ToolResult {
    sentence: String,
    json: Option<String>,
}

/// Why a tool did not do it, in words by which an assistant can go on.
pub(crate) enum ToolError {
    Api(Error),
    /// The arguments cannot be used.
    Input(String),
}

impl ToolResult {
    pub(crate) fn of(sentence: impl Into<String>, value: &impl Serialize) -> Self {
        let json = serde_json::to_string(value).inspect_err(|error| tracing::error!(%error, "an answer is lost"));
        Self { sentence: sentence.into(), json: json.ok() }
    }

    /// A sentence alone.
    pub(crate) fn only(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), json: None }
    }
}

impl ToolError {
    fn words(&self) -> String {
        match self {
            Self::Input(what) => format!("The arguments cannot be used: {what}. Nothing happened."),
            Self::Api(Error::Unknown(why)) => format!(
                "Nobody knows whether it happened: {why}. Look with list_posts or get_post before you do it again; \
                 create_post may be called again with the same idempotency_key and arguments, and a file may be uploaded \
                 again."
            ),
            Self::Api(Error::Unreachable(why)) => {
                format!("The service gives no answer: {why}. Nothing happened; try again in a minute.")
            }
            Self::Api(Error::Unreadable(why)) => {
                format!("It worked, and the answer cannot be read: {why}. Look with get_post or list_posts.")
            }
            Self::Api(Error::NotSignedIn(refusal)) => {
                format!("{refusal}. The person has to give access again: their token is missing, revoked or expired.")
            }
            Self::Api(Error::Refused(refusal)) => {
                if refusal.errors.contains_key("idempotency-key") {
                    return format!(
                        "The idempotency_key was used before, with other arguments: {refusal}\nNothing happened now, and \
                         what happened then stands. Look for it with list_posts. Use a new key only for another post."
                    );
                }
                let next = crate::refusals::of_status(refusal.status);
                if refusal.status == 409 {
                    return format!("Refused with 409: {refusal}\n{next}");
                }
                format!("Refused with {}: {refusal}\nNothing happened. {next}", refusal.status)
            }
        }
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

/// An answer as the protocol has it. A failure is a result too: the assistant
/// reads it and can do better.
pub(crate) fn result(answered: Result<ToolResult, ToolError>) -> CallToolResult {
    match answered {
        Ok(ToolResult { sentence, json }) => {
            let blocks = [Some(sentence), json];
            CallToolResult::success(blocks.into_iter().flatten().map(ContentBlock::text).collect())
        }
        Err(failure) => CallToolResult::error(vec![ContentBlock::text(failure.words())]),
    }
}
