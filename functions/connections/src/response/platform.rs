//! Responses with the supported platforms.

use domain::options;
use platforms::{CallbackUrls, Field, PlatformInfo};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::rule::RuleView;
use crate::App;

/// The supported platforms.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PlatformList {
    /// Sorted by name.
    pub(crate) data: Vec<PlatformView>,
}

/// A platform.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Platform)]
pub(crate) struct PlatformView {
    /// The name in `POST /connections/connect/{platform}`.
    #[schema(example = "mastodon")]
    name: &'static str,
    /// The display name.
    #[schema(example = "Mastodon")]
    title: &'static str,
    /// What an operator needs to set it up: `open` (nothing, or credentials available in minutes),
    /// `own_accounts` (without a review, only the operator's own accounts), `review` or `paid`.
    #[schema(example = "open")]
    access: &'static str,
    /// Whether accounts can be connected in this deployment.
    usable: bool,
    /// JSON Schema 2020-12 of `options` of an entry of a post.
    #[schema(value_type = BTreeMap<String, Value>)]
    options: Value,
    /// Rules for posts before an account is known; the rules of one account are in the `meta` of
    /// its connection. Empty when not usable.
    rules: Vec<RuleView>,
    /// Form fields that the user fills in before the platform's own page. Empty when not usable.
    fields: Vec<FieldView>,
}

/// A form field.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlatformField)]
struct FieldView {
    /// The name of the form field.
    #[schema(example = "server")]
    name: &'static str,
    /// The label to show to the user.
    #[schema(example = "Your server")]
    label: String,
    /// A value as an example.
    #[schema(example = "mastodon.social")]
    example: &'static str,
    /// Whether the input is hidden.
    secret: bool,
    /// Whether it may be empty.
    optional: bool,
}

impl PlatformView {
    pub(crate) fn new(info: &PlatformInfo, app: &App) -> Self {
        let adapter = app.platforms.get(info.name);
        Self {
            name: info.name,
            title: info.title,
            access: info.access.as_str(),
            usable: adapter.is_some(),
            options: options::schema(info.options),
            rules: adapter.map_or_else(Vec::new, |it| RuleView::all(&it.rules())),
            fields: adapter.map_or_else(Vec::new, |it| {
                let urls = app.addresses(it);
                it.fields().iter().map(|field| FieldView::new(field, &urls)).collect()
            }),
        }
    }
}

impl FieldView {
    fn new(field: &Field, urls: &CallbackUrls) -> Self {
        let Field { name, example, secret, optional, .. } = *field;
        let label = field.label_for(urls);
        Self { name, label, example, secret, optional: optional.is_some() }
    }
}
