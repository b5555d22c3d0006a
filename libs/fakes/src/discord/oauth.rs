//! OAuth with the scope `webhook.incoming`: the user chooses a channel on the page, and
//! the token response includes a webhook of the channel.

use chrono::TimeDelta;
use serde_json::Value;

use super::Fake;
use crate::fake::oauth::{Authorizes, Grant, Pkce, Rules};

pub(super) const TOKEN: &str = "/api/v10/oauth2/token";

pub(super) const CHOICE: &str = "lighthouse-news";

/// Client id and secret are in the header or in the body; PKCE is not documented.
pub(super) const RULES: Rules = Rules {
    pkce: Pkce::Unknown,
    scopes: &["identify", "webhook.incoming"],
    access_lives: Some(TimeDelta::days(7)),
    ..Rules::STANDARD
};

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[CHOICE]
    }

    /// "A new webhook is created each time."
    fn tokens(&self, grant: &Grant, rules: &Rules) -> Value {
        let mut response = grant.respond(rules);
        let mut memory = self.memory();
        if grant.scopes.iter().any(|it| it == "webhook.incoming") && !memory.keeps_webhooks {
            response["webhook"] = memory.webhook(Some(grant.client_id.clone())).to_json();
        }
        response
    }
}
