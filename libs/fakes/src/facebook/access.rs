//! Tokens, the checks of every call, the user and their Pages.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use super::{Fake, Memory, PERSON, PERSON_ID};
use crate::fake::oauth::{Authorizes, Fault, Grant, HasOAuth, OAuth, secret};
use crate::fake::params::{Params, bearer};
use crate::meta::access::check_proof;
use crate::meta::error::GraphError;
use crate::meta::fields::Fields;

type JsonResult = Result<Json<Value>, GraphError>;

/// Lifetime of a long-lived token.
const LASTS: TimeDelta = TimeDelta::days(60);

/// Maximum entries per page of a list; small, so that tests need several pages.
const AT_ONCE: usize = 2;

const PORTFOLIO: &str = "577001";

#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) username: Option<String>,
    tasks: Vec<String>,
    /// Whether only a portfolio lists the Page.
    pub(super) portfolio: bool,
}

impl Page {
    pub(super) fn new(id: &str, name: &str, username: Option<&str>, tasks: &[&str]) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            username: username.map(str::to_owned),
            tasks: tasks.iter().map(|it| (*it).to_owned()).collect(),
            portfolio: false,
        }
    }

    pub(super) fn in_portfolio(self) -> Self {
        Self { portfolio: true, ..self }
    }

    pub(super) fn to_json(&self, fields: &str, token: Option<&str>) -> Result<Value, GraphError> {
        let mut object = json!({ "id": self.id });
        for field in fields.split(',') {
            match field {
                "id" => {}
                "name" => object[field] = self.name.as_str().into(),
                "username" => {
                    if let Some(username) = &self.username {
                        object[field] = username.as_str().into();
                    }
                }
                "picture.type(large)" => {
                    object["picture"] =
                        json!({ "data": { "url": format!("https://scontent.example/{}.jpg", self.id) } });
                }
                "access_token" => {
                    if let Some(token) = token {
                        object[field] = token.into();
                    }
                }
                "tasks" if !self.portfolio => object[field] = json!(self.tasks),
                other => return Err(GraphError::param(&format!("Tried accessing nonexisting field ({other})"))),
            }
        }
        Ok(object)
    }
}

/// `GET /oauth/access_token`: exchanges a code or a short-lived token.
pub(super) async fn give(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, GraphError> {
    let params = Params::read(query.as_deref().unwrap_or_default(), &headers, &[]).unwrap_or_default();
    let mut fields = Fields::from_query(query.as_deref())?;
    let (now, mut oauth) = (fake.clock.now(), fake.oauth());
    let unknown = |_| GraphError::new(1, "Error validating client secret.");
    let app = oauth.client(&headers, &params).map_err(unknown)?;
    fields.text("client_id");
    fields.text("client_secret");
    let (at, lives) = if let Some(grant_type) = fields.text("grant_type") {
        let token = fields.want("fb_exchange_token")?;
        fields.end()?;
        if grant_type != "fb_exchange_token" {
            return Err(GraphError::param("Unknown grant_type"));
        }
        let is_it = |it: &Grant| it.access_token == token && !it.revoked;
        let at = oauth
            .grants
            .iter()
            .position(is_it)
            .ok_or_else(|| GraphError::token("Error validating access token", None))?;
        oauth.grants[at].access_token = secret();
        oauth.grants[at].expires_at = Some(now + LASTS);
        (at, LASTS)
    } else {
        let code = oauth.spend(&app, &params, now).map_err(|it| GraphError::param(&it.message()))?;
        fields.text("code");
        fields.text("redirect_uri");
        fields.end()?;
        (oauth.grant(&app, code.scopes, &code.account, now), TimeDelta::hours(1))
    };
    let token = &oauth.grants[at].access_token;
    Ok(Json(json!({ "access_token": token, "token_type": "bearer", "expires_in": lives.num_seconds() })))
}

/// `GET /me`
pub(super) async fn me(State(fake): State<Arc<Fake>>, headers: HeaderMap, mut fields: Fields) -> JsonResult {
    fake.accept_person(&headers, &mut fields, None)?;
    if fields.want("fields")? != "id" {
        return Err(GraphError::param("Only the id is returned here"));
    }
    fields.end()?;
    Ok(Json(json!({ "id": PERSON_ID })))
}

/// `GET /me/permissions`
pub(super) async fn permissions(State(fake): State<Arc<Fake>>, headers: HeaderMap, mut fields: Fields) -> JsonResult {
    let at = fake.accept_person(&headers, &mut fields, None)?;
    fields.end()?;
    let scopes = fake.oauth().grants[at].scopes.clone();
    let memory = fake.memory();
    let status = |it: &String| if memory.declined.contains(it) { "declined" } else { "granted" };
    let data: Vec<_> = scopes.iter().map(|it| json!({ "permission": it, "status": status(it) })).collect();
    Ok(Json(json!({ "data": data })))
}

/// `DELETE /me/permissions`: revokes all permissions of the app.
pub(super) async fn end(State(fake): State<Arc<Fake>>, headers: HeaderMap, mut fields: Fields) -> JsonResult {
    fake.accept_person(&headers, &mut fields, None)?;
    fields.end()?;
    fake.oauth().revoke_all();
    Ok(Json(json!({ "success": true })))
}

/// `GET /me/accounts`
pub(super) async fn accounts(State(fake): State<Arc<Fake>>, headers: HeaderMap, mut fields: Fields) -> JsonResult {
    let at = fake.accept_person(&headers, &mut fields, Some("pages_show_list"))?;
    fake.pages(at, fields, |it| !it.portfolio)
}

/// `GET /me/businesses`
pub(super) async fn businesses(State(fake): State<Arc<Fake>>, headers: HeaderMap, mut fields: Fields) -> JsonResult {
    fake.accept_person(&headers, &mut fields, Some("business_management"))?;
    fields.want("fields")?;
    fields.want("limit")?;
    fields.end()?;
    let has_any = fake.memory().pages.iter().any(|it| it.portfolio);
    let data: Vec<_> = has_any.then(|| json!({ "id": PORTFOLIO })).into_iter().collect();
    Ok(Json(json!({ "data": data })))
}

impl Fake {
    /// `GET /{business}/owned_pages` and `client_pages`.
    pub(super) fn portfolio_pages(
        &self,
        headers: &HeaderMap,
        mut fields: Fields,
        (id, edge): (&str, &str),
    ) -> Result<Json<Value>, GraphError> {
        let at = self.accept_person(headers, &mut fields, Some("business_management"))?;
        if id != PORTFOLIO {
            return Err(GraphError::object_not_found(id));
        }
        self.pages(at, fields, |it| it.portfolio && edge == "owned_pages")
    }

    fn pages(
        &self,
        at: usize,
        mut fields: Fields,
        is_listed: impl Fn(&Page) -> bool,
    ) -> Result<Json<Value>, GraphError> {
        let (asked, limit) = (fields.want("fields")?, fields.want("limit")?);
        let after: usize = fields.text("after").and_then(|it| it.parse().ok()).unwrap_or(0);
        fields.end()?;
        if limit.parse::<usize>().is_ok_and(|it| 100 < it) {
            return Err(GraphError::param("Param limit must be at most 100"));
        }
        let mut memory = self.memory();
        let all: Vec<Page> = memory.pages.iter().filter(|it| is_listed(it)).cloned().collect();
        let mut data = Vec::new();
        for page in all.iter().skip(after).take(AT_ONCE) {
            let token = (!page.tasks.is_empty()).then(|| memory.token(&page.id, at));
            data.push(page.to_json(&asked, token.as_deref())?);
        }
        let until = after + data.len();
        let mut answer =
            json!({ "data": data, "paging": { "cursors": { "before": "b", "after": until.to_string() } } });
        if until < all.len() {
            answer["paging"]["next"] = "https://graph.facebook.com/v26.0/and-so-on".into();
        }
        Ok(Json(answer))
    }

    /// Authorizes a call with a user token whose grant has this permission. Returns the
    /// index of the grant.
    pub(super) fn accept_person(
        &self,
        headers: &HeaderMap,
        fields: &mut Fields,
        needs: Option<&str>,
    ) -> Result<usize, GraphError> {
        let token = self.get_proven_token(headers, fields)?;
        let oauth = self.oauth();
        let at = oauth.grants.iter().position(|it| it.access_token == token);
        let at = at.ok_or_else(|| GraphError::token("Error validating access token", None))?;
        self.lives(&oauth, at, true)?;
        match needs.filter(|it| !self.has(&oauth, at, it)) {
            Some(needed) => Err(missing_permission(10, needed)),
            None => Ok(at),
        }
    }

    /// Authorizes a call with the token of this Page whose grant has these permissions.
    pub(super) fn accept_page(
        &self,
        headers: &HeaderMap,
        fields: &mut Fields,
        (method, id): (&Method, &str),
        needs: &[&str],
    ) -> Result<(), GraphError> {
        let token = self.get_proven_token(headers, fields)?;
        let (page_id, at) = self
            .memory()
            .page_tokens
            .get(&token)
            .cloned()
            .ok_or_else(|| GraphError::token("Error validating access token", None))?;
        let oauth = self.oauth();
        self.lives(&oauth, at, false)?;
        if self.memory().has_other_password {
            return Err(GraphError::token("Error validating access token", Some(460)));
        }
        let code = if *method == Method::GET { 10 } else { 200 };
        if let Some(needed) = needs.iter().find(|it| !self.has(&oauth, at, it)) {
            return Err(missing_permission(code, needed));
        }
        if page_id == id && !self.memory().is_hidden { Ok(()) } else { Err(GraphError::object_not_found(id)) }
    }

    /// The id of the Page that the call's token belongs to.
    pub(super) fn page_of(&self, headers: &HeaderMap) -> Result<String, GraphError> {
        let token =
            bearer(headers).ok_or_else(|| GraphError::token("Error validating access token", Some(2_069_032)))?;
        let memory = self.memory();
        let (page, _) = memory
            .page_tokens
            .get(token)
            .ok_or_else(|| GraphError::token("Error validating access token", Some(2_069_032)))?;
        Ok(page.clone())
    }

    fn lives(&self, oauth: &OAuth, at: usize, ends: bool) -> Result<(), GraphError> {
        let grant = &oauth.grants[at];
        if grant.revoked {
            return Err(GraphError::token("Error validating access token", Some(458)));
        }
        let has_ended = ends && grant.expires_at.is_some_and(|it| it <= self.clock.now());
        if has_ended { Err(GraphError::token("Error validating access token", Some(463))) } else { Ok(()) }
    }

    fn has(&self, oauth: &OAuth, at: usize, permission: &str) -> bool {
        let is_granted = oauth.grants[at].scopes.iter().any(|it| it == permission);
        is_granted && !self.memory().declined.iter().any(|it| it == permission)
    }

    /// The token of a call with a valid `appsecret_proof`.
    fn get_proven_token(&self, headers: &HeaderMap, fields: &mut Fields) -> Result<String, GraphError> {
        let token = bearer(headers).ok_or_else(|| {
            let message = "An active access token must be used to query information about the current user.";
            GraphError::new(2_500, message)
        })?;
        check_proof(&self.oauth(), token, &fields.want("appsecret_proof")?)?;
        Ok(token.to_owned())
    }
}

fn missing_permission(code: i64, permission: &str) -> GraphError {
    let message = format!("(#{code}) This endpoint requires the '{permission}' permission to be granted");
    GraphError::new(code, message).status(StatusCode::FORBIDDEN)
}

impl Memory {
    /// The Page token of this grant; repeated calls return the same token.
    fn token(&mut self, page: &str, at: usize) -> String {
        let known = self.page_tokens.iter().find(|(_, (id, grant))| id == page && *grant == at);
        if let Some((token, _)) = known {
            return token.clone();
        }
        let token = secret();
        self.page_tokens.insert(token.clone(), (page.to_owned(), at));
        token
    }
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[PERSON]
    }

    /// Ends user tokens and Page tokens.
    fn end_access_tokens(&self) {
        self.oauth().end_access_tokens(self.now());
        self.memory().has_other_password = true;
    }

    fn refusal(&self, fault: Fault) -> Response {
        (StatusCode::BAD_REQUEST, GraphError::param(&fault.message())).into_response()
    }
}
