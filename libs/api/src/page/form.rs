//! An invalid form or query gets a page with the reason.

use std::collections::BTreeMap;

use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use http::StatusCode;
use http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use super::PageError;

/// No field of most pages needs as much.
const FORM_KIB: usize = 64;

/// The most characters of a field's name that a page repeats.
const MAX_NAME_CHARS: usize = 32;

/// At most `KIB` KiB.
#[derive(Clone, Debug)]
pub struct PageForm<T, const KIB: usize = FORM_KIB>(pub T);

#[derive(Clone, Debug)]
pub struct PageQuery<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned, const KIB: usize> FromRequest<S> for PageForm<T, KIB> {
    type Rejection = PageError;

    async fn from_request(request: Request, state: &S) -> Result<Self, PageError> {
        let (parts, body) = request.into_parts();
        let bytes = match Limited::new(body, KIB * 1024).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(form_too_large(KIB)),
            Err(_) => return Err(invalid_form("The form was cut off.")),
        };
        if let Err(name) = check_unique_names(&bytes) {
            return Err(invalid_form(&format!("It contains {name} more than once.")));
        }
        match Form::from_request(Request::from_parts(parts, Body::from(bytes)), state).await {
            Ok(Form(fields)) => Ok(Self(fields)),
            Err(_) => Err(invalid_form("A field is missing, or has a value that the page does not offer.")),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for PageQuery<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        check_query(parts.uri.query())?;
        match Query::from_request_parts(parts, state).await {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(_) => Err(invalid_link("A parameter is missing or has an unknown value.")),
        }
    }
}

/// A duplicate parameter is an error.
pub fn parameters(query: Option<&str>) -> Result<BTreeMap<String, String>, PageError> {
    check_query(query)?;
    Ok(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
}

fn check_query(query: Option<&str>) -> Result<(), PageError> {
    check_unique_names(query.unwrap_or_default().as_bytes())
        .map_err(|name| invalid_link(&format!("It contains {name} more than once.")))
}

/// The beginning of the first duplicate name is the error.
fn check_unique_names(encoded: &[u8]) -> Result<(), String> {
    let mut names: Vec<_> = form_urlencoded::parse(encoded).map(|(name, _)| name).collect();
    names.sort_unstable();
    match names.windows(2).find(|it| it[0] == it[1]) {
        Some(pair) => Err(pair[0].chars().take(MAX_NAME_CHARS).collect()),
        None => Ok(()),
    }
}

fn invalid_form(reason: &str) -> PageError {
    PageError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "The form is not valid",
        format!("{reason} Nothing was changed. Go back, reload the page and try again."),
    )
}

fn form_too_large(kib: usize) -> PageError {
    PageError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "The form is too large",
        format!("A form can have at most {kib} KiB. Nothing was changed. Go back and shorten the text."),
    )
}

fn invalid_link(reason: &str) -> PageError {
    PageError::new(
        StatusCode::BAD_REQUEST,
        "This link is not valid",
        format!("{reason} Open the complete link as you received it."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    type Fields = BTreeMap<String, String>;

    async fn filled(form: impl Into<Body>) -> Result<Fields, PageError> {
        let request = Request::builder().method("POST").header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(form.into()).unwrap();
        PageForm::<_>::from_request(request, &()).await.map(|it| it.0)
    }

    #[tokio::test]
    async fn a_field_given_twice_is_named() {
        let error = filled("csrf=x&decision=approve&%64ecision=deny").await.unwrap_err();
        assert_eq!(error, invalid_form("It contains decision more than once."));
        let error = parameters(Some("state=a&code=b&state=a")).unwrap_err();
        assert_eq!(error, invalid_link("It contains state more than once."));
        assert_eq!(parameters(Some("state=a&State=b")).unwrap().len(), 2);
        assert_eq!(parameters(None).unwrap(), Fields::new());
    }

    #[tokio::test]
    async fn each_form_error_has_its_own_message() {
        assert_eq!(filled("a=1&b=2").await.unwrap()["b"], "2");
        assert_eq!(filled("x".repeat(FORM_KIB * 1024 + 1)).await.unwrap_err(), form_too_large(FORM_KIB));
        let request = Request::builder().method("POST").header("content-type", "text/plain").body(Body::from("a=1"));
        assert!(PageForm::<Fields>::from_request(request.unwrap(), &()).await.is_err());
    }

    #[test]
    fn a_long_name_is_not_repeated_whole() {
        let name = "é".repeat(20_000);
        assert_eq!(check_unique_names(format!("{name}=1&{name}=2").as_bytes()), Err("é".repeat(MAX_NAME_CHARS)));
    }
}
