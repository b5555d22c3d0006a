//! What an app may do for an account.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{App, OAuth, Refresh, Rules, secret};

/// What an app may do for an account, and its tokens for that.
#[derive(Clone, Debug)]
pub struct Grant {
    pub client_id: String,
    /// The account; empty for the app's own token.
    pub account: String,
    /// What it covers.
    pub scopes: Vec<String>,
    /// The latest one.
    pub access_token: String,
    /// The latest one.
    pub refresh_token: Option<String>,
    /// When its tokens were given.
    pub made_at: DateTime<Utc>,
    /// When the access token ends.
    pub expires_at: Option<DateTime<Utc>>,
    /// When the refresh token ends; `None` where it does not end.
    pub refresh_ends_at: Option<DateTime<Utc>>,
    /// Whether it has ended.
    pub revoked: bool,
    /// The code that it came of, and refresh tokens that were exchanged.
    pub(super) spent: Vec<String>,
}

impl OAuth {
    /// Gives an app this; its place among the grants.
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
        grant.renew(&self.rules, now);
        self.grants.push(grant);
        self.grants.len() - 1
    }
}

impl Grant {
    /// New tokens in place of the old ones.
    pub(super) fn renew(&mut self, rules: &Rules, now: DateTime<Utc>) {
        self.access_token = secret();
        self.made_at = now;
        self.expires_at = rules.access_lives.map(|it| now + it);
        match (rules.refresh, self.refresh_token.take()) {
            (Refresh::None, _) => {}
            (Refresh::Reusable, Some(same)) => self.refresh_token = Some(same),
            (Refresh::Reusable | Refresh::Rotating, old) => {
                self.spent.extend(old);
                self.refresh_token = Some(secret());
                self.refresh_ends_at = rules.refresh_lives.map(|it| now + it);
            }
        }
    }

    /// The answer of RFC 6749, section 5.1. A refresh token that lasts is said once.
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
