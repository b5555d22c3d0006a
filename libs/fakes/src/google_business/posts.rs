use axum::Json;
use axum::body::Bytes;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::media::MimeType;
use http::HeaderMap;
use serde_json::{Value, json};

use super::locations::parent;
use super::{Accepted, Fake, LOCATION_WITHOUT_POSTS, Memory, Review, fields, invalid, location_disabled};
use crate::google::api_error::{ApiResult, not_found, refusal};
use crate::google::list::List;
use crate::meta::fetched::{Fetched, fetch};

const LIST: List = List { name: "localPosts", parameters: &[], max_page_size: 100, max_items: 100 };

const MIN_PICTURE_BYTES: usize = 10_240;
const MAX_PICTURE_BYTES: usize = 5_000_000;
/// Of the shorter side, in pixels.
const MIN_PICTURE_SIDE: u32 = 250;

#[derive(Clone, Debug)]
pub(super) struct LocalPost {
    pub(super) name: String,
    pub(super) request: Value,
    pub(super) file: Option<Fetched>,
    pub(super) review: Review,
    at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl LocalPost {
    pub(super) fn state(&self, now: DateTime<Utc>) -> &'static str {
        let mut states = self.review.iter().rev();
        states.find(|(seconds, _)| self.at + TimeDelta::seconds(*seconds) <= now).map_or("PROCESSING", |it| it.1)
    }

    pub(super) fn edit(&mut self, text: &str, now: DateTime<Utc>) {
        self.request["summary"] = text.into();
        self.updated_at = now;
    }

    fn json(&self, now: DateTime<Utc>) -> Value {
        let (mut post, state) = (self.request.clone(), self.state(now));
        let (parent, id) = self.name.split_once("/localPosts/").unwrap_or_default();
        post["name"] = self.name.as_str().into();
        post["state"] = state.into();
        for (name, time) in [("createTime", self.at), ("updateTime", self.updated_at)] {
            post[name] = time.to_rfc3339_opts(SecondsFormat::Millis, true).into();
        }
        if state == "LIVE" {
            post["searchUrl"] = format!("https://local.google.com/place?id=813744226420&use=posts&lpsid={id}").into();
        }
        if self.file.is_some() {
            post["media"] = json!([{ "name": format!("{parent}/media/localPosts/AF1Q{id}"), "mediaFormat": "PHOTO",
                "googleUrl": format!("https://lh3.googleusercontent.com/p/AF1Q{id}") }]);
        }
        post
    }
}

impl Memory {
    pub(super) fn add(&mut self, parent: &str, request: Value, at: DateTime<Utc>) -> &mut LocalPost {
        self.last_id += 1;
        let name = format!("{parent}/localPosts/{}", self.last_id);
        self.posts.push(LocalPost { name, request, file: None, review: self.review, at, updated_at: at });
        self.posts.last_mut().expect("a post was added")
    }
}

/// `POST /v4/{parent}/localPosts`
pub(super) async fn create(call: Accepted, headers: HeaderMap, body: Bytes) -> ApiResult {
    let (parent, fake) = (parent(&call)?, &call.fake);
    let request = fields::parse(&headers, &body).map_err(refusal)?;
    if parent == LOCATION_WITHOUT_POSTS {
        return Err(refusal(location_disabled()));
    }
    let file = match request["media"][0]["sourceUrl"].as_str() {
        Some(url) => Some(fetch_picture(fake, url).await.map_err(refusal)?),
        None => None,
    };
    let (mut memory, now) = (fake.memory(), fake.clock.now());
    let post = memory.add(parent, request, now);
    post.file = file;
    Ok(Json(post.json(now)))
}

async fn fetch_picture(fake: &Fake, url: &str) -> Result<Fetched, Value> {
    let file = fetch(url, &[]).await.map_err(|_| invalid(fields::PHOTO_FETCH_FAILED, "", "Fetching image failed."))?;
    let mut memory = fake.memory();
    memory.fetched.push(url.to_owned());
    let is_large = file.facts.pixels.is_some_and(|it| MIN_PICTURE_SIDE <= it.width.min(it.height));
    let is_large = memory.is_for_suite || is_large && MIN_PICTURE_BYTES <= file.bytes.len();
    let is_picture = matches!(file.mime_type, MimeType::Jpeg | MimeType::Png);
    if is_picture && is_large && file.bytes.len() <= MAX_PICTURE_BYTES {
        return Ok(file);
    }
    Err(invalid(fields::PHOTO_UPLOAD_FAILED, "", "Uploading image failed."))
}

/// `GET /v4/{parent}/localPosts`, newest first.
pub(super) async fn list(call: Accepted) -> ApiResult {
    let (parent, now) = (parent(&call)?, call.fake.clock.now());
    let memory = call.fake.memory();
    let of_location = memory.posts.iter().rev().filter(|it| it.name.starts_with(parent));
    let posts: Vec<_> = of_location.map(|it| it.json(now)).collect();
    LIST.page(&call.query, &posts)
}

/// `GET /v4/{name}`
pub(super) async fn post(call: Accepted) -> ApiResult {
    let (memory, now) = (call.fake.memory(), call.fake.clock.now());
    let post = memory.posts.iter().find(|it| it.name == call.name);
    post.map(|it| Json(it.json(now))).ok_or_else(|| refusal(not_found()))
}
