//! Responses with the supported platforms.

use contract::{Platform, PlatformField};
use domain::options;
use platforms::{CallbackUrls, Field, PlatformInfo};
use serde_json::{Map, Value};

use super::rule::rules_view;
use crate::App;

pub(crate) fn platform_view(info: &PlatformInfo, app: &App) -> Platform {
    let adapter = app.platforms.get(info.name);
    Platform {
        name: info.name.to_owned(),
        title: info.title.to_owned(),
        access: info.access.as_str().to_owned(),
        usable: adapter.is_some(),
        options: match options::schema(info.options) {
            Value::Object(schema) => schema,
            _ => Map::new(),
        },
        rules: adapter.map_or_else(Vec::new, |it| rules_view(&it.rules())),
        fields: adapter.map_or_else(Vec::new, |it| {
            let urls = app.addresses(it);
            it.fields().iter().map(|field| field_view(field, &urls)).collect()
        }),
    }
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
