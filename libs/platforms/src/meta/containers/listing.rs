use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::Containers;
use crate::caller::Caller;
use crate::kit::CallError;
use crate::meta::id::GraphId;
use crate::meta::list::List;
use crate::meta::time;
use crate::publish_request::PublishRequest;

const PAGES: usize = 4;

const PAGE: &str = "100";

/// The replies to a post on Threads, the newest first by default.
pub(super) const REPLIES: &str = "replies";

const REPLY_FIELDS: &str = "id,text,timestamp,permalink,is_reply_owned_by_me";

#[derive(Deserialize)]
struct Entry {
    id: GraphId,
    /// On Instagram.
    caption: Option<String>,
    /// On Threads.
    text: Option<String>,
    timestamp: Option<String>,
    permalink: Option<String>,
    /// In the replies to a post on Threads, which are of other profiles, too.
    is_reply_owned_by_me: Option<bool>,
}

pub(super) struct Post {
    pub(super) id: String,
    /// Empty for a story.
    pub(super) text: String,
    pub(super) at: Option<DateTime<Utc>>,
    pub(super) url: Option<String>,
}

pub(super) struct Posts {
    /// Newest first.
    pub(super) posts: Vec<Post>,
    pub(super) is_all: bool,
}

/// The posts of a list since then: `node` is the account, or the post whose replies are listed;
/// `edge` is the list's name.
pub(super) async fn since(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
    (node, edge): (&str, &str),
    since: DateTime<Utc>,
) -> Result<Posts, CallError> {
    let path = format!("/{node}/{edge}");
    let listed = if edge == REPLIES { REPLY_FIELDS } else { platform.calls().listed };
    let (mut posts, mut after) = (Vec::new(), None::<String>);
    for _ in 0..PAGES {
        let query = [("fields", listed), ("limit", PAGE)];
        let page =
            List::<Entry>::page(platform.graph(), Caller::for_request(request), &path, &query, after.as_deref()).await;
        let page = match page {
            Ok(page) => page,
            Err(error) => return Err(platform.graph().confirmed(request, error).await),
        };
        after = page.next();
        let is_older = |it: &Post| it.at.is_some_and(|it| it < since);
        let entries: Vec<_> =
            page.data.into_iter().filter(|it| it.is_reply_owned_by_me != Some(false)).map(Post::from).collect();
        let has_older = entries.iter().any(is_older);
        posts.extend(entries.into_iter().filter(|it| !is_older(it)));
        if has_older || after.is_none() {
            return Ok(Posts { posts, is_all: true });
        }
    }
    Ok(Posts { posts, is_all: false })
}

impl From<Entry> for Post {
    fn from(entry: Entry) -> Self {
        let Entry { id, caption, text, timestamp, permalink, is_reply_owned_by_me: _ } = entry;
        let at = timestamp.as_deref().and_then(time::read);
        Self { id: id.into(), text: caption.or(text).unwrap_or_default(), at, url: permalink }
    }
}
