//! Accounts and their locations. The lists have one item per page, so that a client must follow the
//! tokens.

use axum::Json;
use serde_json::{Value, json};

use super::{Accepted, LOCATION, LOCATION_WITHOUT_POSTS, OTHER_LOCATION};
use crate::google::api_error::{ApiError, ApiResult, bad_request, not_found, refusal};
use crate::google::list::List;

const ACCOUNTS: List = List { name: "accounts", parameters: &[], max_page_size: 20, max_items: 1 };

const LIST: List = List { name: "locations", parameters: &["readMask"], max_page_size: 100, max_items: 1 };

/// Names, titles and streets, in the order of the list.
const LOCATIONS: [(&str, &str, &str); 3] = [
    (LOCATION_WITHOUT_POSTS, "The Warehouse", "Am Sandtorkai 1"),
    (LOCATION, "The Harbor", "Am Sandtorkai 2"),
    (OTHER_LOCATION, "The Harbor", "Elbchaussee 3"),
];

/// The fields of `Location` in the discovery document.
const FIELDS: &str = "name languageCode storeCode title phoneNumbers categories storefrontAddress websiteUri \
                      regularHours specialHours serviceArea labels adWordsLocationExtensions latlng openInfo metadata \
                      profile relationshipData moreHours serviceItems";

/// `GET /v1/accounts`, with the personal account first.
pub(super) async fn accounts(call: Accepted) -> ApiResult {
    let accounts = [(LOCATION, "Ada Keeper", "PERSONAL"), (OTHER_LOCATION, "Boats of Ada", "LOCATION_GROUP")];
    let accounts = accounts.map(|(location, title, kind)| {
        let name = location.split("/locations/").next();
        json!({ "name": name, "accountName": title, "type": kind, "role": "PRIMARY_OWNER" })
    });
    ACCOUNTS.page(&call.query, &accounts)
}

/// `GET /v1/accounts/{account}/locations`
pub(super) async fn list(call: Accepted) -> ApiResult {
    let of_account = LOCATIONS.into_iter().filter(|it| it.0.starts_with(&format!("{}/", call.name)));
    let locations: Vec<_> = of_account.map(|it| location_json(it, &call)).collect::<Result<_, _>>()?;
    if locations.is_empty() {
        return Err(refusal(not_found()));
    }
    LIST.page(&call.query, &locations)
}

/// `GET /v1/locations/{location}`
pub(super) async fn location(call: Accepted) -> ApiResult {
    let location = LOCATIONS.into_iter().find(|it| it.0.ends_with(&format!("/{}", call.name)));
    location_json(location.ok_or_else(|| refusal(not_found()))?, &call).map(Json)
}

/// The fields of the required mask, such as `name,metadata.mapsUri`. As in every response of Google, a
/// value that is false is absent.
fn location_json((name, title, street): (&str, &str, &str), call: &Accepted) -> Result<Value, ApiError> {
    let id = name.rsplit('/').next().unwrap_or_default();
    let mut location = json!({
        "name": format!("locations/{id}"), "title": title,
        "storefrontAddress": { "regionCode": "DE", "locality": "Hamburg", "addressLines": [street] },
        "metadata": { "hasVoiceOfMerchant": true, "mapsUri": format!("https://maps.google.com/maps?cid={id}") },
    });
    let may_post = name == LOCATION || name == OTHER_LOCATION && !call.fake.memory().is_for_suite;
    if may_post {
        location["metadata"]["canOperateLocalPost"] = true.into();
    }
    let wrong = |what: &str| refusal(bad_request("Request contains an invalid argument.", "read_mask", what));
    let mut shown = json!({});
    for path in call.query.get("readMask").ok_or_else(|| wrong("Field is required"))?.split(',') {
        let (field, rest) = path.split_once('.').map_or((path, None), |(field, rest)| (field, Some(rest)));
        if !FIELDS.split(' ').any(|it| it == field) {
            return Err(wrong("Invalid field mask provided"));
        }
        match rest {
            None if !location[field].is_null() => shown[field] = location[field].clone(),
            Some(rest) if !location[field][rest].is_null() => shown[field][rest] = location[field][rest].clone(),
            _ => {}
        }
    }
    Ok(shown)
}

/// The location of a path of v4, with its account.
pub(super) fn parent(call: &Accepted) -> Result<&'static str, ApiError> {
    let parent = LOCATIONS.into_iter().find(|it| call.name.starts_with(&format!("{}/", it.0)));
    parent.map(|it| it.0).ok_or_else(|| refusal(not_found()))
}
