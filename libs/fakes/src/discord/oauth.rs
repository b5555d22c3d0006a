//! OAuth with the scope `webhook.incoming`: on the page a channel is chosen, and a
//! webhook of it comes along with the tokens.

use chrono::TimeDelta;
use serde_json::Value;

use super::Fake;
use crate::fake::oauth::{Authorizes, Grant, Pkce, Rules};

/// Where a code becomes a token.
pub(super) const TOKEN: &str = "/api/v10/oauth2/token";

/// The channel, as its people call it.
pub(super) const CHOICE: &str = "lighthouse-news";

/// Id and secret in the header or in the body; nothing is said of PKCE.
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
            let is_bare = memory.is_bare;
            response["webhook"] = memory.webhook(Some(grant.client_id.clone())).to_json(is_bare);
        }
        response
    }
}
