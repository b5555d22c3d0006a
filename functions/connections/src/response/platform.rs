//! Responses with the supported platforms.

use contract::{Platform, PlatformField};
use domain::options;
use domain::rules::Rules;
use platforms::{CallbackUrls, Connect, Field, PlatformInfo};
use serde_json::{Map, Value};

use super::rule::rules_view;
use crate::App;

pub(crate) async fn platform_view(info: &PlatformInfo, app: &App) -> Platform {
    let adapter = app.platforms.get(info.name);
    let rules = adapter.map(Connect::rules);
    Platform {
        name: info.name.to_owned(),
        title: info.title.to_owned(),
        access: info.access.as_str().to_owned(),
        usable: adapter.is_some(),
        missing: missing(adapter, rules.as_ref()).await,
        options: match options::schema(info.options) {
            Value::Object(schema) => schema,
            _ => Map::new(),
        },
        rules: rules.as_ref().map_or_else(Vec::new, rules_view),
        fields: adapter.map_or_else(Vec::new, |it| {
            let urls = app.addresses(it);
            it.fields().iter().map(|field| field_view(field, &urls)).collect()
        }),
    }
}

async fn missing(adapter: Option<&dyn Connect>, rules: Option<&Rules>) -> Vec<String> {
    let Some(adapter) = adapter else { return vec!["settings".to_owned()] };
    let has_credentials = match adapter.app() {
        Some(app) => app.credentials().await.is_ok(),
        None => true,
    };
    let is_audited = rules.is_none_or(|it| !it.lacks_audit());
    let missing = [(has_credentials, "credentials"), (is_audited, "audit")].into_iter().filter(|it| !it.0);
    missing.map(|it| it.1.to_owned()).collect()
}

fn field_view(field: &Field, urls: &CallbackUrls) -> PlatformField {
    PlatformField {
        name: field.name.to_owned(),
        label: field.label_for(urls),
        example: field.example.to_owned(),
        secret: field.secret,
        optional: field.optional.is_some(),
    }
}
