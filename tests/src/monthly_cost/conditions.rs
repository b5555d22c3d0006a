//! Which resources a deployment with the default parameters creates.

use serde_json::Value;

use crate::error::Result;
use crate::fail;
use crate::template::Template;

/// The resource has no condition, or one that holds.
pub(super) fn is_created(template: &Template, resource: &str) -> Result<bool> {
    match template.json()["Resources"][resource]["Condition"].as_str() {
        Some(condition) => holds(template, &template.json()["Conditions"][condition]),
        None => Ok(true),
    }
}

fn holds(template: &Template, condition: &Value) -> Result<bool> {
    let Some((function, of)) = condition.as_object().and_then(|it| it.iter().next()) else {
        fail!("not a condition: {condition}")
    };
    let parts = of.as_array().map(Vec::as_slice).unwrap_or_default();
    match (function.as_str(), parts) {
        ("Condition", _) => holds(template, &template.json()["Conditions"][of.as_str().unwrap_or_default()]),
        ("Fn::Equals", [one, other]) => Ok(text(template, one)? == text(template, other)?),
        ("Fn::Not", [part]) => Ok(!holds(template, part)?),
        ("Fn::And", parts) => {
            Ok(parts.iter().map(|it| holds(template, it)).collect::<Result<Vec<_>>>()?.iter().all(|it| *it))
        }
        ("Fn::Or", parts) => {
            Ok(parts.iter().map(|it| holds(template, it)).collect::<Result<Vec<_>>>()?.iter().any(|it| *it))
        }
        _ => fail!("a condition that is not known: {condition}"),
    }
}

/// A text or number, or the default of the parameter that is named.
fn text(template: &Template, value: &Value) -> Result<String> {
    match (value, value["Ref"].as_str()) {
        (_, Some(parameter)) => text(template, &template.json()["Parameters"][parameter]["Default"]),
        (Value::String(text), _) => Ok(text.clone()),
        (Value::Number(number), _) => Ok(number.to_string()),
        _ => fail!("the value is not known: {value}"),
    }
}
