//! Error responses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a request was refused: `message`, with `errors` if fields are invalid; or `error` and
/// `error_description` where programs distinguish reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody {
    /// What happened, and what to do about it. For invalid fields: the first error, and how many
    /// more there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "content is required")]
    pub message: Option<String>,
    /// The errors by field, at most 50. The fields of list entries look like `platforms.0.content`.
    /// Long names are truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = json!({ "content": ["content is required"] }))]
    pub errors: Option<BTreeMap<String, Vec<String>>>,
    /// A code for programs, such as `not_found`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
    /// What happened, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error_description: Option<String>,
}
