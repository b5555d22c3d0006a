//! A plain client uploads a video in two parts.

use domain::clock::Clock;
use domain::media::MimeType;
use domain::testing::noon;
use reqwest::Response;
use serde_json::{Value, json};

use super::{CHANNEL_TITLE, Youtube, api};
use crate::conformance::fake_platform::FakePlatform;
use crate::conformance::samples::sample_with_size;
use crate::fake::wire::browser;

const UPLOADS: &str = "/upload/youtube/v3/videos?uploadType=resumable&part=snippet,status";

struct Client {
    base: String,
    token: String,
}

impl Client {
    fn new(youtube: &Youtube) -> Self {
        let mut oauth = youtube.fake.oauth();
        let grant = oauth.grant(&youtube.fake.app, vec![api::FORCE_SSL.to_owned()], CHANNEL_TITLE, noon());
        Self { base: youtube.base_url(), token: oauth.grants[grant].access_token.clone() }
    }

    async fn post(&self, title: &str) -> Response {
        let snippet = json!({ "title": title, "description": "At sea" });
        let body = json!({ "snippet": snippet, "status": { "privacyStatus": "private" } });
        let request = browser().post(format!("{}{UPLOADS}", self.base)).bearer_auth(&self.token).json(&body);
        let request = request.header("x-upload-content-type", "video/mp4").header("x-upload-content-length", 300_000);
        request.send().await.unwrap()
    }

    async fn put(&self, url: &str, range: &str, bytes: &[u8]) -> Response {
        let request = browser().put(url).bearer_auth(&self.token).header("content-type", "video/mp4");
        request.header("content-range", format!("bytes {range}/300000")).body(bytes.to_vec()).send().await.unwrap()
    }
}

#[tokio::test]
async fn video_in_two_parts_becomes_public_after_an_update() {
    let youtube = Youtube::start(Clock::manual(noon())).await;
    let client = Client::new(&youtube);
    let file = sample_with_size(MimeType::Mp4, 300_000).bytes;

    let (invalid, session) = (client.post("a > b").await, client.post("Boats").await);
    let url = session.headers()["location"].to_str().unwrap();
    let first = client.put(url, "0-262143", &file[..262_144]).await;
    let again = client.put(url, "0-262143", &file[..262_144]).await;
    let probe = client.put(url, "*", &[]).await;
    let last = client.put(url, "262144-299999", &file[262_144..]).await;
    let late_probe = client.put(url, "*", &[]).await;

    let statuses = [&invalid, &first, &again, &probe, &last].map(|it| it.status().as_u16());
    assert_eq!(statuses, [400, 308, 400, 308, 201]);
    assert_eq!(probe.headers()["range"], "bytes=0-262143");
    let video: Value = late_probe.json().await.unwrap();
    assert_eq!(video["status"]["uploadStatus"], "uploaded");
    assert!(youtube.public_posts().is_empty());

    let update = json!({ "id": video["id"], "status": { "privacyStatus": "public" } });
    let request = browser().put(format!("{}/youtube/v3/videos?part=status", client.base)).bearer_auth(&client.token);
    assert_eq!(request.json(&update).send().await.unwrap().status(), 200);
    let posts = youtube.public_posts();
    assert_eq!((posts[0].text.as_str(), &posts[0].media[0].bytes), ("At sea", &file));
}
