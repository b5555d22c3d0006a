//! The account's repository: records by collection and key.

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::{DateTime, Utc};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::caller::{self, Caller};
use super::input::{self, Input};
use super::limits::{self, Allowance, Route};
use super::pds_state::repo::{Entry, Prepared};
use super::pds_state::{PdsState, Shared, State as Everything};
use super::scope::Action;
use super::{account, embed, record, tid};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/xrpc/com.atproto.repo.putRecord", post(put))
        .route("/xrpc/com.atproto.repo.createRecord", post(create))
        .route("/xrpc/com.atproto.repo.deleteRecord", post(delete))
        .route("/xrpc/com.atproto.repo.applyWrites", post(apply_writes))
        .route("/xrpc/com.atproto.repo.getRecord", get(get_record))
        .route("/xrpc/com.atproto.repo.listRecords", get(list))
}

/// The precondition of a write: the record that may exist before the write.
enum Swap<'a> {
    Any,
    Nothing,
    This(&'a str),
}

impl<'a> Swap<'a> {
    /// A missing field allows any record, `null` allows none.
    fn read(input: &'a Value, name: &str) -> Self {
        match input.get(name) {
            Some(Value::String(cid)) => Self::This(cid),
            Some(Value::Null) => Self::Nothing,
            _ => Self::Any,
        }
    }

    fn allows(&self, current: Option<&str>) -> bool {
        match self {
            Self::Any => true,
            Self::Nothing => current.is_none(),
            Self::This(cid) => current == Some(cid),
        }
    }
}

async fn put(State(fake): State<Shared>, caller: Caller, input: Input) -> Result<Response, ApiError> {
    let (collection, rkey) = (input.text("collection")?, input.text("rkey")?);
    let allowance = check_may_write(&fake, &input, 2)?;
    caller.repo(Action::Create, collection)?;
    caller.repo(Action::Update, collection)?;
    let prepared = Prepared::read(collection, Some(rkey), input.0["record"].clone(), String::new)?;

    let now = fake.clock.now();
    let mut state = fake.state();
    let current = state.repo.get(collection, rkey).map(|it| it.cid.clone());
    let status = prepared.status;
    let mut answer = json!({
        "uri": prepared.entry.uri(),
        "cid": prepared.entry.cid,
        "validationStatus": status,
    });
    // An equal record changes nothing, regardless of `swapRecord`.
    if current.as_ref() != Some(&prepared.entry.cid) {
        if !Swap::read(&input.0, "swapRecord").allows(current.as_deref()) {
            return Err(ApiError::bad("InvalidSwap", format!("Record was at {}", current.unwrap_or_default())));
        }
        write(&mut state, prepared.entry, now)?;
        answer["commit"] = state.repo.commit(now);
    }
    Ok((allowance.headers(), Json(answer)).into_response())
}

async fn create(State(fake): State<Shared>, caller: Caller, input: Input) -> Result<Response, ApiError> {
    let collection = input.text("collection")?;
    let allowance = check_may_write(&fake, &input, 3)?;
    caller.repo(Action::Create, collection)?;
    let rkey = input.0["rkey"].as_str();
    let prepared = Prepared::read(collection, rkey, input.0["record"].clone(), || next_key(&fake))?;

    let now = fake.clock.now();
    let mut state = fake.state();
    check_key_is_free(&state, &prepared.entry)?;
    let mut answer = json!({
        "uri": prepared.entry.uri(),
        "cid": prepared.entry.cid,
        "validationStatus": prepared.status,
    });
    write(&mut state, prepared.entry, now)?;
    answer["commit"] = state.repo.commit(now);
    Ok((allowance.headers(), Json(answer)).into_response())
}

async fn delete(State(fake): State<Shared>, caller: Caller, input: Input) -> Result<Response, ApiError> {
    let (collection, rkey) = (input.text("collection")?, input.text("rkey")?);
    let allowance = check_may_write(&fake, &input, 1)?;
    caller.repo(Action::Delete, collection)?;
    let now = fake.clock.now();
    let mut state = fake.state();
    let mut answer = json!({});
    if remove(&mut state, collection, rkey) {
        answer["commit"] = state.repo.commit(now);
    }
    Ok((allowance.headers(), Json(answer)).into_response())
}

async fn apply_writes(State(fake): State<Shared>, caller: Caller, input: Input) -> Result<Response, ApiError> {
    let writes = input.0["writes"].as_array();
    let writes = writes.filter(|it| it.len() <= 200).ok_or_else(|| ApiError::invalid("Too many writes. Max: 200"))?;
    let actions: Vec<Action> = writes.iter().map(action).collect::<Result<_, _>>()?;
    let points = |it: &Action| match it {
        Action::Create => 3,
        Action::Update => 2,
        Action::Delete => 1,
    };
    let allowance = check_may_write(&fake, &input, actions.iter().map(points).sum())?;

    let mut prepared = Vec::new();
    for (write, &action) in writes.iter().zip(&actions) {
        let collection = input::text(write, "collection")?;
        caller.repo(action, collection)?;
        let rkey = write["rkey"].as_str();
        let value = if action == Action::Delete { json!({}) } else { write["value"].clone() };
        let read = if action == Action::Delete {
            None
        } else {
            Some(Prepared::read(collection, rkey, value, || next_key(&fake))?)
        };
        prepared.push((action, collection, rkey.unwrap_or_default(), read));
    }
    let now = fake.clock.now();
    let mut state = fake.state();
    for (action, _, _, read) in &prepared {
        let Some(read) = read else { continue };
        if *action == Action::Create {
            check_key_is_free(&state, &read.entry)?;
        }
        state.blobs.check(&read.entry.blobs)?;
    }
    let mut results = Vec::new();
    for (action, collection, rkey, read) in prepared {
        let Some(Prepared { entry, status }) = read else {
            remove(&mut state, collection, rkey);
            results.push(json!({ "$type": "com.atproto.repo.applyWrites#deleteResult" }));
            continue;
        };
        let name = format!(
            "com.atproto.repo.applyWrites#{}Result",
            if action == Action::Create { "create" } else { "update" }
        );
        results.push(json!({ "$type": name, "uri": entry.uri(), "cid": entry.cid, "validationStatus": status }));
        write(&mut state, entry, now)?;
    }
    let commit = state.repo.commit(now);
    Ok((allowance.headers(), Json(json!({ "commit": commit, "results": results }))).into_response())
}

fn action(write: &Value) -> Result<Action, ApiError> {
    match write["$type"].as_str() {
        Some("com.atproto.repo.applyWrites#create") => Ok(Action::Create),
        Some("com.atproto.repo.applyWrites#update") => Ok(Action::Update),
        Some("com.atproto.repo.applyWrites#delete") => Ok(Action::Delete),
        _ => Err(ApiError::invalid(format!("Action not supported: {}", write["$type"]))),
    }
}

/// Checks the rate limit, that the account may write, and that the repository is its own.
fn check_may_write(fake: &PdsState, input: &Input, points: u64) -> Result<Allowance, ApiError> {
    let allowance = limits::take(&mut fake.state().limits, Route::Write, points, fake.clock.now())?;
    if !account::is_it(input.text("repo")?) {
        return Err(ApiError::unauthorized("AuthenticationRequired", "Authentication Required"));
    }
    caller::active(fake)?;
    Ok(allowance)
}

fn next_key(fake: &PdsState) -> String {
    tid::at(fake.clock.now(), fake.state().repo.commits() + 1)
}

/// Refuses a key that is in use. Like real servers, with 500 although it is the client's error.
fn check_key_is_free(state: &Everything, entry: &Entry) -> Result<(), ApiError> {
    if state.repo.get(&entry.collection, &entry.rkey).is_none() {
        return Ok(());
    }
    Err(ApiError::xrpc(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", "Internal Server Error"))
}

/// Writes a record, replacing an existing one with the same key.
fn write(state: &mut Everything, entry: Entry, now: DateTime<Utc>) -> Result<(), ApiError> {
    if state.knows_no_galleries && embed::has_gallery(&entry.value["embed"]) {
        return Err(ApiError::invalid("Invalid app.bsky.feed.post record: expected a known embed at $.record.embed"));
    }
    check_reply(state, &entry.value["reply"])?;
    state.blobs.collect_expired(now);
    state.blobs.check(&entry.blobs)?;
    state.blobs.keep(&entry.blobs);
    let is_it = |it: &Entry| it.collection == entry.collection && it.rkey == entry.rkey;
    match state.repo.entries.iter().position(is_it) {
        Some(index) => {
            let before = std::mem::replace(&mut state.repo.entries[index], entry);
            release_blobs(state, &before);
        }
        None => state.repo.entries.push(entry),
    }
    Ok(())
}

/// Refuses a reply that is in no thread: its references are to records of the account as they are
/// now, and its root is that of its parent.
fn check_reply(state: &Everything, reply: &Value) -> Result<(), ApiError> {
    if reply.is_null() {
        return Ok(());
    }
    let refused = |message: &str| ApiError::invalid(format!("Invalid {} record: {message}", record::POST));
    let find = |name: &str| {
        let found = state.repo.at(reply[name]["uri"].as_str()?)?;
        (reply[name]["cid"] == found.cid && found.collection == record::POST).then_some(found)
    };
    let (Some(root), Some(parent)) = (find("root"), find("parent")) else {
        return Err(refused("no such record at $.record.reply"));
    };
    let root_of_parent = match &parent.value["reply"] {
        Value::Null => parent.uri(),
        reply => reply["root"]["uri"].as_str().unwrap_or_default().to_owned(),
    };
    if root.uri() == root_of_parent {
        Ok(())
    } else {
        Err(refused("the root of another thread at $.record.reply.root"))
    }
}

fn remove(state: &mut Everything, collection: &str, rkey: &str) -> bool {
    let index = state.repo.entries.iter().position(|it| it.collection == collection && it.rkey == rkey);
    let Some(index) = index else { return false };
    let before = state.repo.entries.remove(index);
    release_blobs(state, &before);
    true
}

/// Deletes the files of a deleted record, unless another record refers to them.
fn release_blobs(state: &mut Everything, before: &Entry) {
    for blob in &before.blobs {
        let elsewhere = state.repo.entries.iter().any(|it| it.blobs.iter().any(|other| other.cid == blob.cid));
        if !elsewhere {
            state.blobs.remove(&blob.cid);
        }
    }
}

#[derive(Deserialize)]
struct GetRecordQuery {
    repo: String,
    collection: String,
    rkey: String,
    cid: Option<String>,
}

async fn get_record(State(fake): State<Shared>, Query(wanted): Query<GetRecordQuery>) -> Result<Json<Value>, ApiError> {
    let GetRecordQuery { repo, collection, rkey, cid } = wanted;
    let state = fake.state();
    if repo == account::OTHER_DID {
        return state.others.record(&collection, &rkey).map(Json);
    }
    if !account::is_it(&repo) {
        return Err(ApiError::invalid("Could not locate record"));
    }
    let found = state.repo.get(&collection, &rkey).filter(|it| cid.is_none_or(|cid| cid == it.cid));
    let uri = format!("at://{}/{collection}/{rkey}", account::DID);
    found
        .map(|it| Json(it.respond()))
        .ok_or_else(|| ApiError::bad("RecordNotFound", format!("Could not locate record: {uri}")))
}

#[derive(Deserialize)]
struct ListRecordsQuery {
    repo: String,
    collection: String,
    limit: Option<usize>,
    cursor: Option<String>,
    reverse: Option<bool>,
}

/// Lists records by key, in descending order.
async fn list(State(fake): State<Shared>, Query(page): Query<ListRecordsQuery>) -> Result<Json<Value>, ApiError> {
    if !account::is_it(&page.repo) {
        return Err(ApiError::invalid(format!("Could not find repo: {}", page.repo)));
    }
    let limit = page.limit.unwrap_or(50);
    if !(1..=100).contains(&limit) {
        return Err(ApiError::invalid("limit has to be between 1 and 100"));
    }
    let state = fake.state();
    let mut entries: Vec<&Entry> = state.repo.entries(&page.collection).collect();
    let upwards = page.reverse.unwrap_or(false);
    entries.sort_by(|one, other| if upwards { one.rkey.cmp(&other.rkey) } else { other.rkey.cmp(&one.rkey) });
    if let Some(cursor) = &page.cursor {
        entries.retain(|it| if upwards { cursor < &it.rkey } else { &it.rkey < cursor });
    }
    entries.truncate(limit);
    let records: Vec<Value> = entries.iter().map(|it| it.respond()).collect();
    let mut answer = json!({ "records": records });
    if let Some(last) = entries.last() {
        answer["cursor"] = last.rkey.clone().into();
    }
    Ok(Json(answer))
}
