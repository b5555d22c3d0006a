use serde_json::Value;

use crate::meta::error::GraphError;

/// Checks the options: two to four of 1 to 25 characters, without gaps. The documentation does not
/// forbid equal options; the fake does, because voters cannot distinguish them.
pub(super) fn check(poll: &Value) -> Result<(), GraphError> {
    let refused = |words: &str| GraphError::param(&format!("Param poll_attachment {words}"));
    let object = poll.as_object().ok_or_else(|| refused("must be an object"))?;
    let names = ["option_a", "option_b", "option_c", "option_d"];
    if !(2..=4).contains(&object.len()) || !names.iter().take(object.len()).all(|it| object.contains_key(*it)) {
        return Err(refused("must have 2 to 4 options, first to last"));
    }
    let mut responses: Vec<&str> = object.values().filter_map(Value::as_str).collect();
    if responses.len() < object.len() || !responses.iter().all(|it| (1..=25).contains(&it.trim().chars().count())) {
        return Err(refused("must have options of 1 to 25 characters"));
    }
    responses.sort_unstable();
    responses.dedup();
    if responses.len() < object.len() { Err(refused("has an option twice")) } else { Ok(()) }
}
