//! Pages, and the member's roles on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::api_error::ApiError;
use super::{Fake, MEMBER_URN, Memory, PAGE_URN, SECOND_PAGE_URN};

/// A Page on which the member may not post.
const WATCHED: &str = "urn:li:organization:9999";

pub(super) struct Role {
    pub(super) page: &'static str,
    role: &'static str,
}

pub(super) fn roles() -> Vec<Role> {
    vec![
        Role { page: SECOND_PAGE_URN, role: "CONTENT_ADMINISTRATOR" },
        Role { page: PAGE_URN, role: "ADMINISTRATOR" },
        Role { page: PAGE_URN, role: "CONTENT_ADMINISTRATOR" },
        Role { page: WATCHED, role: "ANALYST" },
    ]
}

impl Memory {
    /// Whether the member may post for this author.
    pub(super) fn may_post(&self, author: &str) -> bool {
        author == MEMBER_URN || self.roles.iter().any(|it| it.page == author && it.role != "ANALYST")
    }
}

pub(super) fn asked(query: Option<&str>) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect()
}

/// `GET /rest/organizationAcls`
pub(super) async fn list_acls(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    fake.authorize_rest(&headers, "/rest/organizationAcls", &["rw_organization_admin", "r_organization_admin"])?;
    let asked = asked(query.as_deref());
    if asked.get("q").map(String::as_str) != Some("roleAssignee") {
        return Err(ApiError::bad("ILLEGAL_ARGUMENT", "There is no such finder"));
    }
    let number = |name: &str, default: usize| asked.get(name).map_or(Some(default), |it| it.parse().ok());
    let (Some(start), Some(count)) = (number("start", 0), number("count", 10)) else {
        return Err(ApiError::bad("PARAM_INVALID", "start and count are numbers"));
    };
    let memory = fake.memory();
    let elements =
        memory.roles.iter().skip(start).take(count).map(
            |it| json!({ "organization": it.page, "role": it.role, "state": "APPROVED", "roleAssignee": MEMBER_URN }),
        );
    Ok(Json(
        json!({ "elements": elements.collect::<Vec<_>>(), "paging": { "start": start, "count": count, "links": [] } }),
    ))
}

/// `GET /rest/organizations?ids=List(…)`
pub(super) async fn named(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    fake.authorize_rest(&headers, "/rest/organizations", &["rw_organization_admin", "r_organization_social"])?;
    // Protocol 2.0.0 does not encode the delimiters of lists.
    let query = query.unwrap_or_default();
    let ids = query.strip_prefix("ids=List(").and_then(|it| it.strip_suffix(')'));
    let ids = ids.ok_or_else(|| ApiError::bad("PARAM_INVALID", "Invalid query parameters passed to request"))?;
    let mut results = Map::new();
    for id in ids.split(',') {
        let name = match format!("urn:li:organization:{id}").as_str() {
            PAGE_URN => ("Lighthouse Works", "lighthouse-works"),
            SECOND_PAGE_URN => ("Foghorn", "foghorn"),
            _ => continue,
        };
        let organization = json!({ "id": id.parse::<u64>().ok(), "localizedName": name.0, "vanityName": name.1 });
        results.insert(id.to_owned(), organization);
    }
    Ok(Json(json!({ "results": results, "statuses": {}, "errors": {} })))
}
