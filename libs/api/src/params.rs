use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::error::ApiError;
use crate::fields::{Fields, Source};

#[derive(Clone, Debug, Default)]
pub struct Params(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Params {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default()))
    }
}

impl Params {
    /// `raw` has no question mark.
    pub fn parse(query: &str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// For a route without parameters: every parameter is an error, because the client expects it
    /// to have an effect.
    pub fn none(self) -> Result<(), ApiError> {
        self.fields(&[]).finish(())
    }

    /// An empty parameter, or one with the value `null`, is null. An unknown or duplicate one is an
    /// error.
    pub fn fields(self, known: &[&'static str]) -> Fields {
        let mut values = Map::new();
        let mut repeated = Vec::new();
        for (name, value) in self.0 {
            if values.contains_key(&name) {
                repeated.push(name);
                continue;
            }
            let is_null = value.is_empty() || value == "null";
            values.insert(name, if is_null { Value::Null } else { Value::String(value) });
        }
        repeated.retain(|it| known.contains(&it.as_str()));
        repeated.dedup();
        let mut fields = Fields::new(values, Source::Query, known);
        for name in repeated {
            fields.add(&name, "is given more than once");
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fields::FieldValue;

    const KNOWN: &[&str] = &["status", "per_page", "page"];

    #[test]
    fn a_parameter_without_a_value_is_null() {
        let mut fields = Params::parse("status=&page=null&per_page=15").fields(KNOWN);
        assert_eq!(fields.text("status"), FieldValue::Null);
        assert_eq!(fields.integer("page"), FieldValue::Null);
        assert_eq!(fields.integer("per_page"), FieldValue::Value(15));
        assert!(fields.finish(()).is_ok());
    }

    #[test]
    fn boolean_parameter_is_true_or_false() {
        let read = |query: &str| Params::parse(query).fields(&["erase"]).boolean("erase");
        assert_eq!(read("erase=true"), FieldValue::Value(true));
        assert_eq!(read("erase=false"), FieldValue::Value(false));
        assert_eq!((read("erase="), read("")), (FieldValue::Null, FieldValue::Absent));
        for raw in ["1", "True", "yes", "true%20"] {
            assert_eq!(read(&format!("erase={raw}")), FieldValue::Invalid, "{raw}");
        }
    }

    #[test]
    fn a_route_without_parameters_refuses_any() {
        assert!(Params::parse("").none().is_ok());
        assert!(matches!(Params::parse("publish=now").none(), Err(ApiError::Invalid(_))));
    }

    #[test]
    fn unknown_duplicate_and_invalid_parameters_are_reported() {
        let mut fields = Params::parse("state=x&page=1&page=2&per_page=ten").fields(KNOWN);
        assert_eq!(fields.integer("per_page"), FieldValue::Invalid);
        let Err(ApiError::Invalid(faults)) = fields.finish(()) else { panic!("no faults") };
        let messages: Vec<&str> = faults.iter().map(|it| it.1).collect();
        assert_eq!(
            messages,
            [
                "state is not a parameter; did you mean status?",
                "page is given more than once",
                "per_page must be a whole number",
            ]
        );
    }

    proptest! {
        #[test]
        fn any_query_is_read(query in ".{0,100}") {
            let _ = Params::parse(&query).fields(KNOWN);
        }
    }
}
