//! Categories and tags.

use serde_json::{Value, json};

use super::Fake;
use super::api_error::ApiError;
use super::request::{Member, RestRequest};
use super::site::Term;

/// `GET /wp/v2/categories`. The search is in the stored names, which are HTML.
pub(super) fn list(fake: &Fake, asked: &RestRequest, taxonomy: &str) -> Value {
    let search = asked.parameter("search").unwrap_or_default().to_lowercase();
    let per_page = asked.parameter("per_page").and_then(|it| it.parse().ok()).unwrap_or(10);
    let memory = fake.memory();
    let found = memory.terms.iter().filter(|it| it.taxonomy == taxonomy && it.name.to_lowercase().contains(&search));
    found.take(per_page).map(view).collect()
}

/// `POST /wp/v2/categories`: a role that may write posts may create tags; categories need a role
/// that manages them.
pub(super) fn create(fake: &Fake, asked: &RestRequest, taxonomy: &str, by: Option<&Member>) -> Result<Value, ApiError> {
    let needed = if taxonomy == "tags" { "edit_posts" } else { "manage_categories" };
    if !by.is_some_and(|it| it.role.can(needed)) {
        let message = "Sorry, you are not allowed to create terms in this taxonomy.";
        return Err(ApiError::forbidden(by.is_some(), "rest_cannot_create", message));
    }
    let fields = asked.fields(&["name"])?;
    let name = fields.get("name").and_then(Value::as_str).ok_or_else(|| ApiError::invalid("name", "is missing"))?;
    let mut memory = fake.memory();
    let kept = memory.add_term(taxonomy, name);
    let made = memory.terms.pop().filter(|it| it.id == kept).ok_or_else(ApiError::no_route)?;
    let is_the_same = |it: &&Term| it.taxonomy == taxonomy && it.name.to_lowercase() == made.name.to_lowercase();
    if let Some(there) = memory.terms.iter().find(is_the_same) {
        return Err(ApiError::term_exists(there.id));
    }
    let view = view(&made);
    memory.terms.push(made);
    Ok(view)
}

fn view(term: &Term) -> Value {
    json!({ "id": term.id, "name": term.name, "taxonomy": term.taxonomy })
}
