//! Categories and tags.

use serde_json::{Value, json};

use super::Fake;
use super::api_error::ApiError;
use super::request::RestRequest;
use super::site::term_html;

/// `GET /wp/v2/categories`. The search is in the stored names, which are HTML.
pub(super) fn list(fake: &Fake, asked: &RestRequest, taxonomy: &str) -> Value {
    let search = asked.parameter("search").unwrap_or_default().to_lowercase();
    let memory = fake.memory();
    let found = memory.terms.iter().filter(|it| it.taxonomy == taxonomy && it.name.to_lowercase().contains(&search));
    found.map(|it| json!({ "id": it.id, "name": it.name })).collect()
}

/// `POST /wp/v2/categories`: an author may create tags only.
pub(super) fn create(fake: &Fake, asked: &RestRequest, taxonomy: &str) -> Result<Value, ApiError> {
    if taxonomy != "tags" {
        let message = "Sorry, you are not allowed to create terms in this taxonomy.";
        return Err(ApiError::new(403, "rest_cannot_create", message));
    }
    let fields = asked.fields(&["name"])?;
    let name = fields.get("name").and_then(Value::as_str).ok_or_else(|| ApiError::invalid("name"))?;
    let mut memory = fake.memory();
    let stored = term_html(name).to_lowercase();
    match memory.terms.iter().find(|it| it.taxonomy == taxonomy && it.name.to_lowercase() == stored) {
        Some(existing) => Err(ApiError::term_exists(existing.id)),
        None => Ok(json!({ "id": memory.add_term(taxonomy, name) })),
    }
}
