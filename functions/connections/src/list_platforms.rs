//! `GET /platforms`

use api::openapi::{CONNECTIONS, Invalid, Refused};
use api::scope_guard::ConnectionsRead;
use api::{ApiResult, Caller, Params};
use axum::Json;
use axum::extract::State;
use domain::options;
use domain::rules::{OptionCondition, Rule, Rules};
use platforms::{CallbackUrls, Field, PlatformInfo};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::App;
use crate::rule_view::{WhenView, is_shown, rule_unit, rule_value};

/// The supported platforms.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PlatformList {
    /// Sorted by name.
    data: Vec<PlatformView>,
}

/// A platform.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Platform)]
struct PlatformView {
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

/// A rule of a platform for posts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlatformRule)]
struct RuleView {
    /// The name of the rule.
    #[schema(example = "max_text")]
    name: &'static str,
    /// A number or a list of strings; `yes` for a rule without a value.
    #[schema(value_type = Value, example = json!(500))]
    value: Value,
    /// Unit of a number; null for other values.
    #[schema(example = "graphemes")]
    unit: Option<&'static str>,
    /// The condition under which the rule applies; absent when it always applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    when: Option<WhenView>,
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

/// Lists the platforms with their options, rules and form fields.
#[utoipa::path(
    get,
    path = "/api/v1/platforms",
    tag = CONNECTIONS,
    operation_id = "platform.index",
    summary = "List platforms",
    responses((status = 200, body = PlatformList, description = "The platforms"), Refused, Invalid),
    security(("token" = [])),
)]
pub(crate) async fn list_platforms(
    _: Caller<ConnectionsRead>,
    State(app): State<App>,
    params: Params,
) -> ApiResult<Json<PlatformList>> {
    params.none()?;
    let data = platforms::platform_infos().iter().map(|it| PlatformView::new(it, &app)).collect();
    Ok(Json(PlatformList { data }))
}

impl PlatformView {
    fn new(info: &PlatformInfo, app: &App) -> Self {
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

impl RuleView {
    /// Unconditional rules come first.
    fn all(rules: &Rules) -> Vec<Self> {
        let conditional = rules.depending.iter().flat_map(|it| it.rules.iter().map(|rule| (rule, Some(&it.when))));
        let unconditional = rules.rules.iter().map(|it| (it, None));
        unconditional.chain(conditional).filter(|(it, _)| is_shown(it)).map(|(it, when)| Self::new(it, when)).collect()
    }

    fn new(rule: &Rule, when: Option<&OptionCondition>) -> Self {
        Self { name: rule.id(), value: rule_value(rule), unit: rule_unit(rule), when: when.map(WhenView::new) }
    }
}

impl FieldView {
    fn new(field: &Field, urls: &CallbackUrls) -> Self {
        let Field { name, example, secret, optional, .. } = *field;
        let label = field.label_for(urls);
        Self { name, label, example, secret, optional: optional.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use domain::rules::{FileRule, OptionCondition, PostRule, Rule, Rules};
    use serde_json::json;

    use super::RuleView;
    use crate::testing::Harness;

    #[test]
    fn only_rules_that_limit_a_post_are_listed() {
        let fitted = || Rule::OfFiles(FileRule::FittedImageSide { max: 4096 });
        let rules = Rules::new("Example", [Rule::max_media(4), fitted()]).with_rules_when(
            OptionCondition::option("kind", ["reel"]),
            [fitted(), Rule::OfPost(PostRule::TextNotShown)],
        );

        let names: Vec<_> = RuleView::all(&rules).into_iter().map(|it| it.name).collect();

        assert_eq!(names, ["max_media", "text_not_shown"]);
    }

    #[tokio::test]
    async fn platforms_are_listed_with_their_options() {
        let harness = Harness::new().await;

        let listed = harness.get("/api/v1/platforms").await.body["data"].clone();

        let mastodon = listed.as_array().unwrap().iter().find(|it| it["name"] == "mastodon").unwrap();
        assert_eq!((&mastodon["title"], &mastodon["access"]), (&json!("Mastodon"), &json!("open")));
        // This test has other platforms set up.
        assert_eq!((&mastodon["usable"], &mastodon["fields"]), (&json!(false), &json!([])));
        let visibility = &mastodon["options"]["properties"]["visibility"];
        assert_eq!(visibility["enum"], json!(["public", "unlisted", "private"]));
        assert_eq!(harness.get("/api/v1/platforms?name=x").await.status, 422);
    }
}
