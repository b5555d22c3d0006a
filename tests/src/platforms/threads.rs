//! A thread of five segments: its request, its segments in the response, and the calls that
//! published it.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::scenes::Figures;
use crate::{
    deployment::{User, fresh},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    lossy_proxy::LossyProxy,
    moment, picture,
};

/// The post and its replies.
pub const SEGMENTS: usize = 5;

/// A scheduled thread.
pub struct Thread {
    pub id: i64,
    /// The text of each segment. All begin with [`Thread::prefix`].
    pub texts: Vec<String>,
    pub prefix: String,
    /// The picture of each segment; empty if the segments have none.
    pub pictures: Vec<Vec<u8>>,
    due: DateTime<Utc>,
}

impl Thread {
    /// Schedules a thread for this target, due `after` its pictures are uploaded.
    pub async fn schedule(user: &User<'_>, target: &Value, has_pictures: bool, after: TimeDelta) -> Result<Self> {
        let prefix = fresh("thread");
        let texts: Vec<_> = (1..=SEGMENTS).map(|number| format!("{prefix} {number}")).collect();
        let reds = (0_u8..).step_by(40).take(if has_pictures { SEGMENTS } else { 0 });
        let pictures: Vec<_> = reds.map(|red| picture::png(64, 48, [red, 120, 90])).collect();
        let mut segments = Vec::new();
        for (index, content) in texts.iter().enumerate() {
            let mut media = Vec::new();
            if let Some(bytes) = pictures.get(index) {
                media.push(json!({ "path": user.upload("image/png", bytes).await?, "alt_text": content }));
            }
            segments.push(json!({ "content": content, "media": media }));
        }
        let due = moment::now() + after;
        let mut body = segments.remove(0);
        body["platforms"] = json!([target]);
        body["thread"] = json!(segments);
        body["scheduled_at"] = json!(moment::written(due));
        let id = integer(&user.create(&body).await?, "id")?;
        Ok(Self { id, texts, prefix, pictures, due })
    }

    /// Waits until every segment is public; returns their ids in order.
    pub async fn published(&self, user: &User<'_>, seconds: u64) -> Result<Vec<String>> {
        let post = user.reaches(self.id, "published", seconds).await?;
        let segments = list(&post["platforms"][0], "segments")?;
        same(segments.len(), SEGMENTS, "segments")?;
        let mut ids = Vec::new();
        let mut last = self.due;
        for (segment, content) in segments.iter().zip(&self.texts) {
            same(text(segment, "content")?, content.as_str(), "content of a segment")?;
            same(text(segment, "status")?, "published", "status of a segment")?;
            let at = moment::read(&segment["published_at"])?;
            // Servers state their own times, some in whole seconds.
            ensure!(last - TimeDelta::seconds(1) <= at, "a segment was published at {at}, the one before it at {last}");
            last = at;
            ids.push(text(segment, "platform_post_id")?.to_owned());
        }
        Ok(ids)
    }

    /// The calls from the due time on, of which those whose request line contains `publish_call`
    /// published the segments.
    pub fn figures(&self, proxy: &LossyProxy, publish_call: &str) -> Result<Figures> {
        let requests = proxy.requests_since(self.due);
        let calls: Vec<_> = requests.iter().filter(|it| it.line.contains(publish_call)).map(|it| it.at).collect();
        let (Some(first), Some(last)) = (calls.first(), calls.last()) else { crate::fail!("nothing was published") };
        same(calls.len(), SEGMENTS, "publish calls, one for each segment")?;
        Ok(vec![
            ("calls from the due time on", i64::try_from(requests.len())?),
            ("ms from the due time to the first publish call", (*first - self.due).num_milliseconds()),
            ("ms from the first publish call to the last", (*last - *first).num_milliseconds()),
        ])
    }
}
