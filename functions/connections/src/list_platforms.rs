//! `GET /platforms`

use api::openapi::{CONNECTIONS, Invalid, Refused};
use api::scope_guard::ConnectionsRead;
use api::{ApiResult, Caller, Params};
use axum::Json;
use axum::extract::State;
use domain::options;
use domain::rules::{Rule, Rules, When};
use platforms::{CallbackUrls, Field, PlatformInfo};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::App;
use crate::rule_view::{WhenView, is_shown, unit_of, value_of};

/// The platforms that there are.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PlatformList {
    /// By name.
    data: Vec<PlatformView>,
}

/// A platform.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Platform)]
struct PlatformView {
    /// As in `POST /connections/connect/{platform}`.
    #[schema(example = "mastodon")]
    name: &'static str,
    /// As people know it.
    #[schema(example = "Mastodon")]
    title: &'static str,
    /// What an operator needs to have it: `open` (nothing, or credentials that anybody gets in minutes), `own_accounts`
    /// (without a review, only the operator's own accounts), `review` or `paid`.
    #[schema(example = "open")]
    access: &'static str,
    /// Whether accounts of it can be connected here.
    usable: bool,
    /// What `options` of an entry of a post may say: a JSON Schema 2020-12.
    #[schema(value_type = BTreeMap<String, Value>)]
    options: Value,
    /// What it asks of a post before an account is known; an account's own rules are in the `meta` of its connection.
    /// Empty where it is not usable.
    rules: Vec<RuleView>,
    /// What a person is asked for before the platform's own page. Empty where it is not usable.
    fields: Vec<FieldView>,
}

/// Something that a platform asks of a post.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlatformRule)]
struct RuleView {
    /// The name of the rule.
    #[schema(example = "max_text")]
    name: &'static str,
    /// A number or a list of strings; `yes` where it only matters that there is an entry.
    #[schema(value_type = Value, example = json!(500))]
    value: Value,
    /// What a number counts; null for other values.
    #[schema(example = "graphemes")]
    unit: Option<&'static str>,
    /// Where it holds, if it does not hold always.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    when: Option<WhenView>,
}

/// Something that a person is asked for.
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
    /// Whether what is typed is hidden.
    secret: bool,
    /// Whether it may stay empty.
    optional: bool,
}

/// Lists the platforms that there are, and what posts can say there.
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
    let data = platforms::platform_infos().iter().map(|it| PlatformView::of(it, &app)).collect();
    Ok(Json(PlatformList { data }))
}

impl PlatformView {
    fn of(known: &PlatformInfo, app: &App) -> Self {
        let adapter = app.platforms.get(known.name);
        Self {
            name: known.name,
            title: known.title,
            access: known.access.as_str(),
            usable: adapter.is_some(),
            options: options::schema(known.options),
            rules: adapter.map_or_else(Vec::new, |it| RuleView::all(&it.rules())),
            fields: adapter.map_or_else(Vec::new, |it| {
                let here = app.addresses(it);
                it.fields().iter().map(|field| FieldView::of(field, &here)).collect()
            }),
        }
    }
}

impl RuleView {
    /// First those that hold always.
    fn all(rules: &Rules) -> Vec<Self> {
        let depending = rules.depending.iter().flat_map(|it| it.rules.iter().map(|rule| (rule, Some(&it.when))));
        let always = rules.rules.iter().map(|it| (it, None));
        always.chain(depending).filter(|(it, _)| is_shown(it)).map(|(it, when)| Self::of(it, when)).collect()
    }

    fn of(rule: &Rule, when: Option<&When>) -> Self {
        Self { name: rule.id(), value: value_of(rule), unit: unit_of(rule), when: when.map(WhenView::of) }
    }
}

impl FieldView {
    fn of(field: &Field, here: &CallbackUrls) -> Self {
        let Field { name, example, secret, optional, .. } = *field;
        let label = field.label_at(here);
        Self { name, label, example, secret, optional: optional.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use domain::rules::{FileRule, PostRule, Rule, Rules, When};
    use serde_json::json;

    use super::RuleView;
    use crate::testing::Harness;

    #[test]
    fn only_rules_that_limit_a_post_are_listed() {
        let fitted = || Rule::OfFiles(FileRule::FittedImageSide { max: 4096 });
        let rules = Rules::of("Example", [Rule::max_media(4), fitted()])
            .and_where(When::option("kind", ["reel"]), [fitted(), Rule::OfPost(PostRule::TextNotShown)]);

        let names: Vec<_> = RuleView::all(&rules).into_iter().map(|it| it.name).collect();

        assert_eq!(names, ["max_media", "text_not_shown"]);
    }

    #[tokio::test]
    async fn platforms_are_listed_with_what_a_post_can_say_there() {
        let world = Harness::new().await;

        let listed = world.get("/api/v1/platforms").await.body["data"].clone();

        let mastodon = listed.as_array().unwrap().iter().find(|it| it["name"] == "mastodon").unwrap();
        assert_eq!((&mastodon["title"], &mastodon["access"]), (&json!("Mastodon"), &json!("open")));
        // The platforms of this test are others.
        assert_eq!((&mastodon["usable"], &mastodon["fields"]), (&json!(false), &json!([])));
        let visibility = &mastodon["options"]["properties"]["visibility"];
        assert_eq!(visibility["enum"], json!(["public", "unlisted", "private"]));
        assert_eq!(world.get("/api/v1/platforms?name=x").await.status, 422);
    }
}
