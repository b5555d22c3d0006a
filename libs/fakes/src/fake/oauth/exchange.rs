//! Code exchange, refresh and revocation.

use chrono::{DateTime, Utc};
use http::HeaderMap;

use super::{App, Code, Fault, Grant, OAuth, Pkce, Refresh, challenge};
use crate::fake::params::Params;

impl OAuth {
    /// A call to the token endpoint with a code or a refresh token of the app. A second use of
    /// either ends the grant.
    pub fn token(&mut self, headers: &HeaderMap, params: &Params, now: DateTime<Utc>) -> Result<&Grant, Fault> {
        let app = self.client(headers, params)?;
        let index = match required(params, "grant_type")?.as_str() {
            "authorization_code" => {
                let code = self.spend(&app, params, now);
                let code = code.inspect_err(|_| self.revoke_reused(params.text("code").as_deref()))?;
                let index = self.grant(&app, code.scopes, &code.account, now);
                self.grants[index].spent.push(code.value);
                index
            }
            "refresh_token" if self.rules.refresh != Refresh::None => {
                let refresh_token = required(params, "refresh_token")?;
                let index = self.refresh(&app, &refresh_token, now);
                index.inspect_err(|_| self.revoke_reused(Some(&refresh_token)))?
            }
            _ => return Err(Fault::UnknownGrantType),
        };
        Ok(&self.grants[index])
    }

    /// The app that authenticates a call to the token endpoint.
    pub fn client(&self, headers: &HeaderMap, params: &Params) -> Result<App, Fault> {
        self.authenticated(headers, params).filter(|it| !it.removed).ok_or(Fault::UnknownClient)
    }

    /// Redeems a code, with the redirect URI and the verifier that belong to it.
    pub fn spend(&mut self, app: &App, params: &Params, now: DateTime<Utc>) -> Result<Code, Fault> {
        let (value, redirect_uri) = (required(params, "code")?, required(params, "redirect_uri")?);
        let pkce = self.rules.pkce;
        let is_match = |it: &&mut Code| it.value == value && it.client_id == app.client_id;
        let code = self.codes.iter_mut().find(is_match).ok_or(Fault::InvalidGrant("there is no such code"))?;
        if code.used || code.ends_at <= now {
            return Err(Fault::InvalidGrant("the code was used, or is too old"));
        }
        if code.redirect_uri != redirect_uri {
            return Err(Fault::InvalidGrant("redirect_uri is another one than that of the request"));
        }
        let verifier = params.text("code_verifier");
        if pkce == Pkce::Unknown && verifier.is_some() {
            return Err(Fault::Wrong("code_verifier".to_owned()));
        }
        if matches!(pkce, Pkce::Required | Pkce::Possible) && code.challenge != verifier.map(|it| challenge(&it)) {
            return Err(Fault::InvalidGrant("code_verifier does not fit the challenge"));
        }
        code.used = true;
        Ok(code.clone())
    }

    /// Refreshes the tokens of a grant. Returns the index of the grant.
    pub fn refresh(&mut self, app: &App, refresh_token: &str, now: DateTime<Utc>) -> Result<usize, Fault> {
        let is_match = |it: &Grant| {
            it.refresh_token.as_deref() == Some(refresh_token) && it.client_id == app.client_id && !it.revoked
        };
        let index = self.grants.iter().position(is_match);
        let index = index.ok_or(Fault::InvalidGrant("the refresh token is unknown, used or revoked"))?;
        if self.grants[index].refresh_ends_at.is_some_and(|it| it <= now) {
            return Err(Fault::InvalidGrant("the refresh token has expired"));
        }
        let rules = self.rules;
        self.grants[index].issue_tokens(&rules, now);
        Ok(index)
    }

    /// Ends the grant of a token (RFC 7009). An unknown token counts as revoked; another app's
    /// token is refused.
    pub fn revoke(&mut self, app: &App, token: &str) -> Result<(), Fault> {
        let is_match = |it: &&mut Grant| it.access_token == token || it.refresh_token.as_deref() == Some(token);
        match self.grants.iter_mut().find(is_match) {
            Some(grant) if grant.client_id != app.client_id => Err(Fault::UnknownClient),
            Some(grant) => {
                grant.revoked = true;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn revoke_reused(&mut self, used_token: Option<&str>) {
        let is_match = |it: &&mut Grant| it.spent.iter().any(|it| Some(it.as_str()) == used_token);
        for grant in self.grants.iter_mut().filter(is_match) {
            grant.revoked = true;
        }
    }
}

fn required(params: &Params, name: &str) -> Result<String, Fault> {
    params.text(name).ok_or_else(|| Fault::Missing(name.to_owned()))
}
