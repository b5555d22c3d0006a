//! What operators let each user spend, as they write it into a platform's settings.

use domain::budget::{Budgets, Mills};
use serde::Deserialize;

use crate::registry::known;
use crate::setup::{PlatformSettings, SetupError};

/// The setting `budget` of a platform whose posts have a price.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// What the posts of a user may cost in a calendar month, in US cents.
    us_cents: u32,
}

/// The budgets in the settings of platforms. Which platforms take one, their adapters say
/// when they are set up.
pub fn budgets(settings: &PlatformSettings) -> Result<Budgets, SetupError> {
    let mut budgets = Vec::new();
    for platform in known() {
        let Some(budget) = settings.get(platform.name).and_then(|it| it.get("budget")) else { continue };
        let budget = serde_json::from_value::<Option<Budget>>(budget.clone());
        let budget = budget.map_err(|source| SetupError::Settings { name: platform.name, source })?;
        budgets.extend(budget.map(|it| (platform.name.to_owned(), Mills::cents(it.us_cents))));
    }
    Ok(Budgets::of(budgets))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(settings: Value) -> Result<Budgets, String> {
        budgets(&serde_json::from_value(settings).unwrap()).map_err(|it| it.to_string())
    }

    #[test]
    fn a_budget_is_read_and_what_is_none_is_named() {
        let some = Budgets::of([("x".to_owned(), Mills::new(5_000))]);
        assert_eq!(read(json!({"x": {"budget": {"us_cents": 500}}, "bluesky": {}})), Ok(some));
        assert_eq!(read(json!({"x": {}})), Ok(Budgets::default()));
        let wrong = read(json!({"x": {"budget": {"cents": 500}}})).unwrap_err();
        assert!(wrong.starts_with("the settings of x: unknown field `cents`"), "{wrong}");
    }
}
