//! Posts, stories and comments: creation and lists.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use url::Url;

use super::{Fake, Memory, unwanted};
use crate::meta::error::GraphError;
use crate::meta::fields::Fields;
use crate::meta::lists::Page;

/// Maximum length of a text, in UTF-16 code units.
const MAX_TEXT: usize = 63_206;

/// Maximum length of a comment, in UTF-16 code units.
const MAX_COMMENT: usize = 8_000;

const MAX_PHOTOS: usize = 10;

/// A public post or story.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) id: String,
    pub(super) page: String,
    pub(super) text: String,
    /// Photo ids.
    pub(super) photos: Vec<String>,
    /// Video id.
    pub(super) video: Option<String>,
    pub(super) link: Option<String>,
    pub(super) is_story: bool,
    at: DateTime<Utc>,
}

/// A comment on a post or a video.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) id: String,
    pub(super) post: String,
    author: String,
    pub(super) text: String,
    at: DateTime<Utc>,
}

impl Fake {
    /// `POST /{page}/feed`
    pub(super) fn post(&self, page: &str, mut fields: Fields) -> Result<Value, GraphError> {
        let (text, link) = (fields.text("message"), fields.text("link"));
        let photos =
            fields.numbered("attached_media").iter().map(|it| parse_photo_id(it)).collect::<Result<Vec<_>, _>>()?;
        fields.end()?;
        let text = text.unwrap_or_default().trim().to_owned();
        if text.is_empty() && link.is_none() && photos.is_empty() {
            return Err(GraphError::param("A post needs a message, a link or media"));
        }
        if MAX_TEXT < text.encode_utf16().count() {
            return Err(GraphError::param("Param message must be at most 63206 characters"));
        }
        if MAX_PHOTOS < photos.len() || (link.is_some() && !photos.is_empty()) {
            return Err(GraphError::param("Too much media for one post"));
        }
        if let Some(link) = &link {
            let host = Url::parse(link).ok().and_then(|it| it.host_str().map(str::to_owned));
            match host.as_deref() {
                None => return Err(unwanted(1_500, 1_609_005, "The link could not be read.")),
                Some("www.facebook.com" | "facebook.com") => {
                    return Err(unwanted(100, 1_609_008, "Links to Facebook cannot be shared here."));
                }
                Some(_) => {}
            }
        }
        let now = self.clock.now();
        let mut memory = self.memory();
        let is_same = |it: &Post| photos.is_empty() && it.photos.is_empty() && it.text == text && it.link == link;
        let latest = memory.posts.iter().rfind(|it| it.page == page && it.video.is_none() && !it.is_story);
        if latest.is_some_and(is_same) {
            return Err(GraphError::new(506, "(#506) Duplicate status message"));
        }
        memory.show(page, &photos, now)?;
        let id = memory.add_post(page, &text, photos, None, now);
        if let Some(post) = memory.posts.last_mut() {
            post.link = link;
        }
        Ok(json!({ "id": id }))
    }

    /// `POST /{page}/photo_stories`
    pub(super) fn photo_story(&self, page: &str, mut fields: Fields) -> Result<Value, GraphError> {
        let photo = fields.want("photo_id")?;
        fields.end()?;
        let now = self.clock.now();
        let mut memory = self.memory();
        memory.show(page, std::slice::from_ref(&photo), now)?;
        memory.add_post(page, "", vec![photo], None, now);
        let number = memory.next();
        if let Some(post) = memory.posts.last_mut() {
            (post.is_story, post.id) = (true, number.clone());
        }
        Ok(json!({ "success": true, "post_id": number }))
    }

    /// `POST /{post}/comments`
    pub(super) fn comment(&self, page: &str, post: &str, mut fields: Fields) -> Result<Value, GraphError> {
        let text = fields.want("message")?;
        fields.end()?;
        if text.is_empty() || MAX_COMMENT < text.encode_utf16().count() {
            return Err(GraphError::param("Param message must be at most 8000 characters"));
        }
        let now = self.clock.now();
        let mut memory = self.memory();
        if !memory.has_comments(page, post, now) {
            return Err(GraphError::object_not_found(post));
        }
        let id = memory.add_comment(page, post, &text, now);
        Ok(json!({ "id": id }))
    }

    /// `GET /{post}/comments`. The documentation of other filters and orders is not simulated.
    pub(super) fn list_comments(&self, page: &str, post: &str, mut fields: Fields) -> Result<Value, GraphError> {
        let asked = Page::asked(&mut fields)?;
        let selected = fields.want("fields")?;
        let filter = fields.one_of("filter", &["toplevel", "stream"])?;
        let order = fields.one_of("order", &["chronological", "reverse_chronological"])?;
        fields.end()?;
        if selected != "id,message,created_time,from" {
            return Err(GraphError::param(&format!("Tried accessing nonexisting field ({selected})")));
        }
        let now = self.clock.now();
        let memory = self.memory();
        if !memory.has_comments(page, post, now) {
            return Err(GraphError::object_not_found(post));
        }
        // Without a filter and an order, Facebook ranks comments and leaves some out.
        let is_ranked = filter.is_none() || order.is_none();
        let comments = memory.comments.iter().filter(|it| it.post == post && !is_ranked);
        let mut entries: Vec<_> = comments.map(Comment::to_json).collect();
        if order.as_deref() == Some("reverse_chronological") {
            entries.reverse();
        }
        Ok(asked.respond(entries, &format!("https://graph.facebook.com/v26.0/{post}/comments")))
    }

    /// `GET /{page}/published_posts`
    pub(super) fn published(&self, page: &str, mut fields: Fields) -> Result<Value, GraphError> {
        let asked = fields.want("fields")?;
        let limit = fields.text("limit").map_or(Some(25), |it| it.parse::<usize>().ok()).filter(|it| *it <= 100);
        let limit = limit.ok_or_else(|| GraphError::param("Param limit must be at most 100"))?;
        let after: usize = fields.text("after").and_then(|it| it.parse().ok()).unwrap_or(0);
        fields.end()?;
        if asked != "id,message,created_time,permalink_url,attachments{media_type,target,subattachments}" {
            return Err(GraphError::param(&format!("Tried accessing nonexisting field ({asked})")));
        }
        let memory = self.memory();
        let all: Vec<_> = memory.posts.iter().rev().filter(|it| it.page == page && !it.is_story).collect();
        let data: Vec<_> = all.iter().skip(after).take(limit).map(|it| it.to_json()).collect();
        let until = after + data.len();
        let mut response = json!({ "data": data, "paging": { "cursors": { "after": until.to_string() } } });
        if until < all.len() {
            response["paging"]["next"] = "https://graph.facebook.com/v26.0/and-so-on".into();
        }
        Ok(response)
    }

    /// `GET /{page}/stories`
    pub(super) fn list_stories(&self, page: &str, mut fields: Fields) -> Result<Value, GraphError> {
        let (asked, _) = (fields.want("fields")?, fields.text("limit"));
        fields.end()?;
        if asked != "post_id,media_id,url" {
            return Err(GraphError::param(&format!("Tried accessing nonexisting field ({asked})")));
        }
        let memory = self.memory();
        let stories = memory.posts.iter().rev().filter(|it| it.page == page && it.is_story);
        let to_json = |it: &Post| {
            let shown = it.photos.first().or(it.video.as_ref());
            json!({ "post_id": it.id, "media_id": shown, "url": format!("https://facebook.com/stories/{}", it.id) })
        };
        Ok(json!({ "data": stories.map(to_json).collect::<Vec<_>>() }))
    }
}

/// The photo id in an entry of `attached_media`.
fn parse_photo_id(entry: &str) -> Result<String, GraphError> {
    let entry: Value = serde_json::from_str(entry).unwrap_or_default();
    match entry.as_object() {
        Some(fields) if fields.len() == 1 => fields.get("media_fbid").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    }
    .ok_or_else(|| GraphError::param("Param attached_media must be an object with a media_fbid"))
}

impl Post {
    fn to_json(&self) -> Value {
        let mut object = json!({
            "id": self.id,
            "created_time": self.at.format("%Y-%m-%dT%H:%M:%S+0000").to_string(),
            "permalink_url": format!("https://www.facebook.com/{}/posts/{}", self.page, self.number()),
        });
        if !self.text.is_empty() {
            object["message"] = self.text.as_str().into();
        }
        let shown = |id: &String| json!({ "media_type": "photo", "target": { "id": id, "url": "https://www.facebook.com/photo" } });
        let attachment = match (self.photos.as_slice(), &self.video, &self.link) {
            ([], None, None) => return object,
            ([], Some(video), _) => json!({ "media_type": "video", "target": { "id": video } }),
            ([], None, Some(link)) => json!({ "media_type": "link", "target": { "url": link } }),
            ([one], ..) => shown(one),
            (several, ..) => json!({
                "media_type": "album",
                "target": { "id": "1", "url": "https://www.facebook.com/album" },
                "subattachments": { "data": several.iter().map(shown).collect::<Vec<_>>() },
            }),
        };
        object["attachments"] = json!({ "data": [attachment] });
        object
    }

    fn number(&self) -> &str {
        self.id.split('_').next_back().unwrap_or_default()
    }
}

impl Comment {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "message": self.text,
            "created_time": self.at.format("%Y-%m-%dT%H:%M:%S+0000").to_string(),
            "from": { "id": self.author, "name": "Somebody" },
        })
    }
}

impl Memory {
    /// Whether the object can have comments: a post of the Page, or one of its videos once it is
    /// public.
    fn has_comments(&self, page: &str, post: &str, now: DateTime<Utc>) -> bool {
        let is_video = self.videos.get(post).is_some_and(|it| it.page == page && it.is_public(now));
        is_video || self.posts.iter().any(|it| it.id == post && it.page == page && !it.is_story)
    }

    /// Returns the id.
    pub(super) fn add_comment(&mut self, author: &str, post: &str, text: &str, at: DateTime<Utc>) -> String {
        let number = post.split('_').next_back().unwrap_or_default();
        let id = format!("{number}_{}", self.next());
        let (author, post, text) = (author.to_owned(), post.to_owned(), text.trim().to_owned());
        self.comments.push(Comment { id: id.clone(), post, author, text, at });
        id
    }

    /// Returns the id.
    pub(super) fn add_post(
        &mut self,
        page: &str,
        text: &str,
        photos: Vec<String>,
        video: Option<String>,
        at: DateTime<Utc>,
    ) -> String {
        let id = format!("{page}_{}", self.next());
        self.posts.push(Post {
            id: id.clone(),
            page: page.to_owned(),
            text: text.to_owned(),
            photos,
            video,
            link: None,
            is_story: false,
            at,
        });
        id
    }
}
