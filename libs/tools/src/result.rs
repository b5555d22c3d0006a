use client::Error;
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

/// The only property that every result has.
pub(crate) const SUMMARY: &str = "summary";

/// A sentence, and named data. The structured content has both; the texts are for clients without it.
pub(crate) struct ToolResult {
    sentence: String,
    data: Option<(&'static str, Value)>,
}

/// An error, whose text tells the assistant what to do next.
pub(crate) enum ToolError {
    Api(Error),
    Input(String),
}

impl ToolResult {
    /// `name` is the property of the tool's output schema that describes the data.
    pub(crate) fn new(sentence: impl Into<String>, name: &'static str, data: &impl Serialize) -> Self {
        let data = serde_json::to_value(data)
            .inspect_err(|error| tracing::error!(%error, "a tool's result could not be serialized"));
        Self { sentence: sentence.into(), data: data.ok().map(|it| (name, it)) }
    }

    /// Without data.
    pub(crate) fn only(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), data: None }
    }
}

impl ToolError {
    fn message(&self) -> String {
        match self {
            Self::Input(what) => format!("Invalid arguments: {what}. Nothing was changed."),
            Self::Api(Error::Unknown(why)) => format!(
                "The outcome is unknown: {why}. Check with list_posts or get_post before you try again. It is safe to \
                 call create_post again with the same idempotency_key and arguments, and to upload a file again."
            ),
            Self::Api(Error::Unreachable(why)) => {
                format!("The call failed: {why}. Nothing was changed; try again in a minute.")
            }
            Self::Api(Error::Unreadable(why)) => {
                format!("The call succeeded, but its response is unreadable: {why}. Check with get_post or list_posts.")
            }
            Self::Api(Error::NotSignedIn(refusal)) => {
                format!("{refusal}. Ask the person to give access again.")
            }
            Self::Api(Error::Refused(refusal)) => {
                if refusal.errors.contains_key("idempotency-key") {
                    return format!(
                        "The idempotency_key was already used with other arguments: {refusal}\nNothing was changed now; \
                         the first call is still valid. Find its post with list_posts. For another post, use a new key."
                    );
                }
                let next = crate::refusals::advice_for_status(refusal.status);
                if refusal.status == 409 {
                    return format!("Refused with 409: {refusal}\n{next}");
                }
                format!("Refused with {}: {refusal}\nNothing was changed. {next}", refusal.status)
            }
        }
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

/// An error is a result too, so that the assistant can read it and correct the call.
pub(crate) fn result(outcome: Result<ToolResult, ToolError>) -> CallToolResult {
    match outcome {
        Ok(ToolResult { sentence, data }) => {
            let blocks = [Some(sentence.clone()), data.as_ref().map(|it| it.1.to_string())];
            let blocks = blocks.into_iter().flatten().map(ContentBlock::text).collect();
            let named = data.map(|(name, value)| (name.to_owned(), value));
            let structured = named.into_iter().chain([(SUMMARY.to_owned(), sentence.into())]).collect();
            let mut result = CallToolResult::success(blocks);
            result.structured_content = Some(Value::Object(structured));
            result
        }
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.message())]),
    }
}
