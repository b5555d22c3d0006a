//! Lists with `pageSize` and `pageToken` (AIP-158).

use std::collections::BTreeMap;

use axum::Json;
use serde_json::{Value, json};

use super::api_error::{ApiResult, bad_request, refusal};

#[derive(Clone, Copy, Debug)]
pub struct List {
    /// The field with the items. An empty list is absent.
    pub name: &'static str,
    /// The parameters, apart from those of pages.
    pub parameters: &'static [&'static str],
    /// Google reduces a larger page size for some lists; the fake refuses it.
    pub max_page_size: usize,
    /// The largest page, whatever size a request names.
    pub max_items: usize,
}

impl List {
    /// The last page has no token.
    pub fn page(&self, query: &BTreeMap<String, String>, all: &[Value]) -> ApiResult {
        let is_known = |it: &str| ["pageSize", "pageToken"].contains(&it) || self.parameters.contains(&it);
        if let Some(name) = query.keys().find(|it| !is_known(it)) {
            let message = format!(
                "Invalid JSON payload received. Unknown name \"{name}\": Cannot bind query parameter. Field '{name}' \
                 could not be found in request message."
            );
            return Err(refusal(bad_request(&message, "", &message)));
        }
        let wrong = |field: &str| refusal(bad_request("Request contains an invalid argument.", field, "Invalid value"));
        let size = query.get("pageSize").map_or(Some(self.max_page_size.min(20)), |it| it.parse().ok());
        let size = size.filter(|it| (1..=self.max_page_size).contains(it)).ok_or_else(|| wrong("page_size"))?;
        let start = query.get("pageToken").map_or(Some(0), |it| it.strip_prefix("page-")?.parse().ok());
        let start = start.filter(|it| *it <= all.len()).ok_or_else(|| wrong("page_token"))?;
        let end = all.len().min(start + size.min(self.max_items));
        let mut page = json!({});
        if start < end {
            page[self.name] = all[start..end].into();
        }
        if end < all.len() {
            page["nextPageToken"] = format!("page-{end}").into();
        }
        Ok(Json(page))
    }
}
