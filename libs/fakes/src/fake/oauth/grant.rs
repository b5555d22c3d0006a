//! Grants and their tokens.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{App, OAuth, Refresh, Rules, secret};

/// How many used codes and refresh tokens a grant recognizes.
const MAX_SPENT: usize = 10;

/// The permission of an app to act for an account, with its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Grant {
    pub client_id: String,
    /// Empty for the app's own token.
    pub account: String,
    pub scopes: Vec<String>,
    pub access_token: String,
    pub refresh_token: Option<String>,
    /// When the current tokens were issued.
    pub made_at: DateTime<Utc>,
    /// `None` if the access token does not expire.
    pub expires_at: Option<DateTime<Utc>>,
    /// `None` if the refresh token does not expire.
    pub refresh_ends_at: Option<DateTime<Utc>>,
    pub revoked: bool,
    /// The redeemed code and the latest refresh tokens that were exchanged.
    pub(super) spent: Vec<String>,
}

impl OAuth {
    /// Adds a grant for an app. Returns the index of the grant.
    pub fn grant(&mut self, app: &App, scopes: Vec<String>, account: &str, now: DateTime<Utc>) -> usize {
        let mut grant = Grant {
            client_id: app.client_id.clone(),
            account: account.to_owned(),
            scopes,
            access_token: String::new(),
            refresh_token: None,
            made_at: now,
            expires_at: None,
            refresh_ends_at: None,
            revoked: false,
            spent: Vec::new(),
        };
        grant.issue_tokens(&self.rules, now);
        self.grants.push(grant);
        self.grants.len() - 1
    }
}

impl Grant {
    pub(super) fn issue_tokens(&mut self, rules: &Rules, now: DateTime<Utc>) {
        self.access_token = secret();
        self.made_at = now;
        self.expires_at = rules.access_lives.map(|it| now + it);
        match (rules.refresh, self.refresh_token.take()) {
            (Refresh::None, _) => {}
            (Refresh::Reusable, Some(same)) => self.refresh_token = Some(same),
            (Refresh::Reusable | Refresh::Rotating, old) => {
                self.spent.extend(old);
                if MAX_SPENT < self.spent.len() {
                    // The first is the code, which is never forgotten.
                    self.spent.remove(1);
                }
                self.refresh_token = Some(secret());
                self.refresh_ends_at = rules.refresh_lives.map(|it| now + it);
            }
        }
    }

    /// The token response of RFC 6749, section 5.1.
    pub fn respond(&self, rules: &Rules) -> Value {
        let separator = rules.separator.to_string();
        let mut response = json!({
            "access_token": self.access_token,
            "token_type": "Bearer",
            "scope": self.scopes.join(&separator),
        });
        if let Some(lives) = rules.access_lives {
            response["expires_in"] = json!(lives.num_seconds());
        }
        if let Some(refresh_token) = &self.refresh_token {
            response["refresh_token"] = json!(refresh_token);
        }
        if let Some(ends_at) = self.refresh_ends_at {
            response["refresh_token_expires_in"] = json!((ends_at - self.made_at).num_seconds());
        }
        response
    }
}
