//! The environment that the template gives a function, with values.

use std::collections::BTreeMap;

use crate::{
    fault::{Fault, Result},
    template::Template,
};

/// What the names of tables and secrets start with.
pub const PREFIX: &str = "deployed";

/// The environment that the template gives the function of this folder.
pub fn environment(folder: &str) -> Result<BTreeMap<String, String>> {
    let variables = Template::read()?.variables(folder).into_iter();
    let valued = variables.map(|name| {
        let value = value(&name).ok_or_else(|| Fault::new(format!("what is {name} to be?")))?;
        Ok((name, value.to_owned()))
    });
    valued.collect()
}

/// What a variable of the template is set to; `None` when nothing is known of
/// it. There is nothing at the addresses.
pub fn value(name: &str) -> Option<&'static str> {
    Some(match name {
        "TABLE_PREFIX" | "PLATFORM_SECRETS" => PREFIX,
        "DUE_SHARDS" => "2",
        "LOG_LEVEL" => "info",
        "ORIGIN" => "https://social.example",
        "OIDC_ISSUER" => "https://issuer.example",
        "OIDC_CLIENT_ID" => "client",
        "MEDIA_BUCKET" => "media",
        "QUEUE_URL" => "https://queue.example/deliveries",
        "EVENT_BUS" => "bus",
        "KMS_KEY_ID" => "key",
        // They are set up; nobody asks for a secret before it is used.
        "PLATFORMS" => r#"{"bluesky": {}, "mastodon": {}, "sandbox": {"url": "https://sandbox.example"}}"#,
        "REQUESTS_PER_MINUTE" => "60",
        "MEDIA_PER_MINUTE" => "30",
        "TOKEN_DAYS" => "180",
        // The template leaves them empty unless a parameter says otherwise.
        "ALLOWED_ORIGINS"
        | "SIGN_UP_ALLOWED"
        | "OIDC_CLIENT_SECRET"
        | "OIDC_DISCOVERY"
        | "MEDIA_ENDPOINT"
        | "MEDIA_PUBLIC_ENDPOINT"
        | "MEDIA_LIMITS"
        | "PLANS"
        | "AWS_ENDPOINT_URL_DYNAMODB" => "",
        _ => return None,
    })
}
