//! The environment that the template gives a function, with values.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    error::{Result, TestError},
    template::Template,
};

/// Names of tables and secrets begin with this.
pub const PREFIX: &str = "deployed";

pub fn environment(folder: &str) -> Result<BTreeMap<String, String>> {
    let variables = Template::read()?.variables(folder).into_iter();
    let valued = variables.map(|name| {
        let value = value(&name).ok_or_else(|| TestError::new(format!("no value for the variable {name}")))?;
        Ok((name, value))
    });
    valued.collect()
}

/// `None` for an unknown variable. No server listens at the addresses.
pub fn value(name: &str) -> Option<String> {
    if name == "PLATFORMS" {
        // Their secrets are not read before they are used.
        return Some(every_platform("https://sandbox.example").to_string());
    }
    let value = match name {
        "TABLE_PREFIX" | "PLATFORM_SECRETS" => PREFIX,
        "DUE_SHARDS" => "2",
        "DELIVERY_CONCURRENCY" => "20",
        "LOG_LEVEL" => "info",
        "ORIGIN" => "https://social.example",
        "API_ORIGIN" => "https://gateway.example",
        "MCP_SECRET" => "fedcba9876543210fedcba9876543210",
        "OIDC_ISSUER" => "https://issuer.example",
        "OIDC_CLIENT_ID" => "client",
        "MEDIA_BUCKET" => "media",
        "QUEUE_URL" => "https://queue.example/deliveries",
        "PICTURES_QUEUE_URL" => "https://queue.example/pictures",
        "WEBHOOK_QUEUE_URL" => "https://queue.example/webhooks",
        "EVENT_BUS" => "bus",
        "KMS_KEY_ID" => "key",
        "FILE_SECRET" => "0123456789abcdef0123456789abcdef",
        "REQUESTS_PER_MINUTE" => "60",
        "MEDIA_PER_MINUTE" => "30",
        "CALLS_PER_USER" => "3",
        "CALLS_PER_HOST" => "10",
        "TOKEN_DAYS" => "180",
        "GUEST_HAND_OFFS" | "EDGE_SERVES_FILES" => "false",
        "TOKEN_MAX_DAYS" => "400",
        // The template leaves these empty unless a parameter sets them.
        "ALLOWED_ORIGINS"
        | "BRAND"
        | "RETURN_ORIGINS"
        | "SIGN_UP_ALLOWED"
        | "OIDC_SECRET"
        | "OIDC_DISCOVERY"
        | "TRUSTED_PROXY_HEADER"
        | "TRUSTED_PROXY_SECRET"
        | "MEDIA_ENDPOINT"
        | "MEDIA_PUBLIC_ENDPOINT"
        | "MEDIA_LIMITS"
        | "PLANS"
        | "AWS_ENDPOINT_URL_DYNAMODB" => "",
        _ => return None,
    };
    Some(value.to_owned())
}

pub fn every_platform(sandbox: &str) -> Value {
    let settings = |name| if name == "sandbox" { json!({ "url": sandbox }) } else { json!({}) };
    platforms::platform_infos().iter().map(|it| (it.name.to_owned(), settings(it.name))).collect()
}
