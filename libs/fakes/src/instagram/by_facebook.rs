//! Facebook's login: a user, their Pages, and the accounts of the Pages.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::routing::get;
use axum::{Json, Router};
use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderMap;
use serde_json::{Value, json};

use super::access::PICTURE;
use super::{Fake, HANDLE, ID};
use crate::fake::oauth::{self, OAuth, secret};
use crate::fake::params::{Params, bearer};
use crate::meta::access::{Proof, accept, check_proof, living};
use crate::meta::error::GraphError;
use crate::meta::fields::Fields;
use crate::meta::lists::Page as PageOfList;

/// How long a long-lived token is valid.
const LASTS: TimeDelta = TimeDelta::days(60);

/// The app-scoped id of the user.
const PERSON: &str = "10158000000000042";

#[derive(Clone, Debug)]
pub(super) struct Page {
    id: String,
    /// The id and the username of the Page's account.
    account: Option<(String, String)>,
    tasks: Vec<String>,
    pub(super) token: String,
}

impl Page {
    pub(super) fn new(id: &str, account: Option<(&str, &str)>, tasks: &[&str]) -> Self {
        let account = account.map(|(id, name)| (id.to_owned(), name.to_owned()));
        let tasks = tasks.iter().map(|it| (*it).to_owned()).collect();
        Self { id: id.to_owned(), account, tasks, token: format!("EAAP{}", secret()) }
    }

    pub(super) fn for_account() -> Self {
        Self::new("108824017345866", Some((ID, HANDLE)), &["CREATE_CONTENT", "MANAGE"])
    }

    fn to_json(&self, fields: &str) -> Result<Value, GraphError> {
        let mut object = json!({ "id": self.id });
        // The fields of a nested object are in braces.
        let (plain, inner) = match fields.split_once("instagram_business_account{") {
            Some((before, rest)) => {
                let (inner, after) = rest.split_once('}').ok_or_else(|| GraphError::param("Syntax error"))?;
                (format!("{before}{after}"), Some(inner))
            }
            None => (fields.to_owned(), None),
        };
        for field in plain.split(',').filter(|it| !it.is_empty()) {
            match field {
                "name" => object[field] = format!("Page {}", self.id).into(),
                "picture.type(large)" => {
                    object["picture"] = json!({ "data": { "url": "https://scontent.example/p.jpg" } });
                }
                "access_token" if !self.tasks.is_empty() => object[field] = self.token.as_str().into(),
                "id" | "username" | "access_token" => {}
                "tasks" => object[field] = json!(self.tasks),
                other => return Err(GraphError::param(&format!("Tried accessing nonexisting field ({other})"))),
            }
        }
        if inner.is_some_and(|it| it != "id,username,name,profile_picture_url") {
            return Err(GraphError::param("Tried accessing nonexisting field of an IGUser"));
        }
        if let Some((id, name)) = self.account.as_ref().filter(|_| inner.is_some()) {
            object["instagram_business_account"] = json!({
                "id": id,
                "username": name,
                "name": "Ada Keeper",
                "profile_picture_url": PICTURE,
            });
        }
        Ok(object)
    }
}

/// The routes of Facebook's login only.
pub(super) fn routes() -> Router<Arc<Fake>> {
    oauth::page_at::<Fake>("/v26.0/dialog/oauth")
        .route("/v26.0/oauth/access_token", get(issue_token))
        .route("/v26.0/me", get(me))
        .route("/v26.0/me/permissions", get(permissions).delete(end))
        .route("/v26.0/me/accounts", get(accounts))
        .route("/v26.0/me/businesses", get(businesses))
}

/// `GET /oauth/access_token`: exchanges a code or a short-lived token.
async fn issue_token(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, GraphError> {
    let query = query.unwrap_or_default();
    let mut fields = Fields::read(&query, "", b"")?;
    let params = Params::read(&query, &headers, &[]).map_err(|_| GraphError::param("The query cannot be read"))?;
    let (now, mut oauth) = (fake.clock.now(), fake.oauth());
    let app = oauth.client(&headers, &params)?;
    fields.want("client_id")?;
    fields.want("client_secret")?;
    let (at, lives) = if let Some(grant_type) = fields.text("grant_type") {
        let token = fields.want("fb_exchange_token")?;
        fields.end()?;
        if grant_type != "fb_exchange_token" {
            return Err(GraphError::param("Unknown grant_type"));
        }
        living(&oauth, &token, now)?;
        let at = oauth.grants.iter().position(|it| it.access_token == token).ok_or_else(GraphError::unknown)?;
        oauth.grants[at].access_token = secret();
        oauth.grants[at].expires_at = Some(now + LASTS);
        (at, LASTS)
    } else {
        let code = oauth.spend(&app, &params, now)?;
        fields.want("code")?;
        fields.want("redirect_uri")?;
        fields.end()?;
        (oauth.grant(&app, code.scopes, &code.account, now), TimeDelta::hours(1))
    };
    let token = &oauth.grants[at].access_token;
    Ok(Json(json!({ "access_token": token, "token_type": "bearer", "expires_in": lives.num_seconds() })))
}

/// `GET /me`
async fn me(State(fake): State<Arc<Fake>>, headers: HeaderMap, mut fields: Fields) -> Result<Json<Value>, GraphError> {
    fake.authorize_user(&headers, &mut fields, &[])?;
    if fields.want("fields")? != "id" {
        return Err(GraphError::param("Only the id is returned here"));
    }
    fields.end()?;
    Ok(Json(json!({ "id": PERSON })))
}

/// `GET /me/permissions`
async fn permissions(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.authorize_user(&headers, &mut fields, &[])?;
    fields.end()?;
    let (memory, all) = (fake.memory(), super::RULES_OF_FACEBOOK.scopes);
    let status = |it: &str| if memory.declined.iter().any(|other| other == it) { "declined" } else { "granted" };
    let data: Vec<_> = all.iter().map(|it| json!({ "permission": it, "status": status(it) })).collect();
    Ok(Json(json!({ "data": data })))
}

/// `DELETE /me/permissions`: revokes all that the user has granted to the app.
async fn end(State(fake): State<Arc<Fake>>, headers: HeaderMap, mut fields: Fields) -> Result<Json<Value>, GraphError> {
    fake.authorize_user(&headers, &mut fields, &[])?;
    fields.end()?;
    fake.oauth().revoke_all();
    Ok(Json(json!({ "success": true })))
}

/// `GET /me/accounts`
async fn accounts(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.authorize_user(&headers, &mut fields, &["pages_show_list"])?;
    let (asked, page) = (fields.want("fields")?, PageOfList::asked(&mut fields)?);
    fields.end()?;
    let entries: Result<Vec<_>, _> = fake.memory().pages.iter().map(|it| it.to_json(&asked)).collect();
    Ok(Json(page.respond(entries?, "https://graph.facebook.com/v26.0/me/accounts")))
}

/// `GET /me/businesses`: an empty list.
async fn businesses(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    mut fields: Fields,
) -> Result<Json<Value>, GraphError> {
    fake.authorize_user(&headers, &mut fields, &["business_management"])?;
    fields.want("fields")?;
    PageOfList::asked(&mut fields)?;
    fields.end()?;
    Ok(Json(json!({ "data": [] })))
}

impl Fake {
    fn authorize_user(&self, headers: &HeaderMap, fields: &mut Fields, scopes: &[&str]) -> Result<(), GraphError> {
        self.check_declined(scopes)?;
        accept(&self.oauth(), headers, fields, Proof::Required, scopes, self.clock.now()).map(drop)
    }

    /// Accepts a call with the token of the account's Page, if the user has granted these scopes.
    pub(super) fn accept_page(
        &self,
        headers: &HeaderMap,
        fields: &mut Fields,
        scopes: &[&str],
    ) -> Result<(), GraphError> {
        let token = bearer(headers).ok_or_else(GraphError::token_required)?;
        let oauth = self.oauth();
        check_proof(&oauth, token, &fields.want("appsecret_proof")?)?;
        let is_of_a_page = self.memory().pages.iter().any(|it| it.token == token && it.account.is_some());
        if !is_of_a_page {
            return Err(GraphError::token("Invalid OAuth access token - Cannot parse access token", None));
        }
        let grant = oauth.grants.iter().rfind(|it| !it.revoked).ok_or_else(GraphError::removed_app)?;
        self.check_declined(scopes)?;
        match scopes.iter().find(|scope| !grant.scopes.iter().any(|it| it == *scope)) {
            Some(scope) => Err(GraphError::permission(scope)),
            None => Ok(()),
        }
    }

    fn check_declined(&self, scopes: &[&str]) -> Result<(), GraphError> {
        let memory = self.memory();
        match scopes.iter().find(|scope| memory.declined.iter().any(|it| it == *scope)) {
            Some(scope) => Err(GraphError::permission(scope)),
            None => Ok(()),
        }
    }

    /// The user changes the password, which also ends the tokens of Pages.
    pub(super) fn change_password(&self, oauth: &mut OAuth, now: DateTime<Utc>) {
        oauth.end_access_tokens(now);
        for page in &mut self.memory().pages {
            page.token = format!("EAAP{}", secret());
        }
    }
}
