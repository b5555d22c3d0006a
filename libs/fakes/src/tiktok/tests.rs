//! A plain client posts a video directly, in two chunks.

use chrono::TimeDelta;
use domain::clock::Clock;
use domain::media::MimeType;
use domain::testing::noon;
use reqwest::header::CONTENT_RANGE;
use serde_json::{Value, json};
use url::Url;

use super::{RULES, TikTok, USERNAME};
use crate::conformance::adapter_harness::ORIGIN;
use crate::conformance::fake_platform::{Decision, FakePlatform};
use crate::conformance::samples::sample_with_size;
use crate::fake::oauth::decide;
use crate::fake::wire::browser;

const SIZE: usize = 11_000_000;
const CHUNK: usize = 5_242_880;

impl TikTok<true> {
    async fn token(&self) -> String {
        let (app, callback) = (&self.fake.app, format!("{ORIGIN}/connect/callback/tiktok"));
        let page = format!("{}/v2/auth/authorize/", self.base_url());
        let scope = RULES.scopes.join(",");
        let query = [
            ("client_key", app.client_id.as_str()),
            ("scope", &scope),
            ("response_type", "code"),
            ("redirect_uri", &callback),
            ("state", "a state"),
        ];
        let page = Url::parse_with_params(&page, query).unwrap();
        let redirect = decide(page.as_str(), USERNAME, Decision::Allow).await;
        let query: std::collections::BTreeMap<_, _> = redirect.query_pairs().collect();
        assert_eq!(query["scopes"], scope);
        let form = [
            ("client_key", app.client_id.as_str()),
            ("client_secret", &app.client_secret),
            ("grant_type", "authorization_code"),
            ("code", &query["code"]),
            ("redirect_uri", &callback),
        ];
        let request = browser().post(format!("{}/v2/oauth/token/", self.base_url())).form(&form);
        let tokens: Value = request.send().await.unwrap().json().await.unwrap();
        tokens["access_token"].as_str().unwrap().to_owned()
    }

    async fn call(&self, token: &str, path: &str, body: &Value) -> Value {
        let request = browser().post(format!("{}{path}", self.base_url())).bearer_auth(token).json(body);
        request.send().await.unwrap().json().await.unwrap()
    }

    async fn put(&self, url: &str, bytes: &[u8], first: usize) -> (u16, String) {
        let range = format!("bytes {first}-{}/{SIZE}", first + bytes.len() - 1);
        let request = browser().put(url).header("content-type", "video/mp4").header(CONTENT_RANGE, range);
        let response = request.body(bytes.to_vec()).send().await.unwrap();
        let range = response.headers().get(CONTENT_RANGE).map(|it| it.to_str().unwrap().to_owned());
        (response.status().as_u16(), range.unwrap_or_default())
    }
}

#[tokio::test]
async fn direct_post_of_two_chunks_is_processed_and_listed() {
    let clock = Clock::manual(noon());
    let tiktok = TikTok::<true>::start(clock.clone()).await;
    let token = tiktok.token().await;
    let mut post = json!({
        "post_info": { "title": "a boat", "privacy_level": "PUBLIC_TO_EVERYONE", "brand_content_toggle": false,
            "brand_organic_toggle": false },
        "source_info": { "source": "FILE_UPLOAD", "video_size": SIZE, "chunk_size": CHUNK, "total_chunk_count": 3 },
    });
    let video = sample_with_size(MimeType::Mp4, SIZE).bytes;

    let refused = tiktok.call(&token, "/v2/post/publish/video/init/", &post).await;
    assert_eq!(refused["error"]["message"], "The total chunk count is invalid");
    post["source_info"]["total_chunk_count"] = 2.into();
    tiktok.call(&token, "/v2/post/publish/creator_info/query/", &json!({})).await;
    let begun = tiktok.call(&token, "/v2/post/publish/video/init/", &post).await["data"].take();
    assert!(tiktok.creator_info_queried_before_latest_post());
    let (id, url) = (&begun["publish_id"], begun["upload_url"].as_str().unwrap());
    assert_eq!(tiktok.put(url, &video[CHUNK..], CHUNK).await.0, 416);
    assert_eq!(tiktok.put(url, &video[..CHUNK], 0).await, (206, format!("bytes 0-{CHUNK}/{SIZE}")));
    assert_eq!(tiktok.put(url, &video[CHUNK..], CHUNK).await, (201, format!("bytes 0-{SIZE}/{SIZE}")));

    let mut statuses = Vec::new();
    for seconds in [0, 5, 20] {
        clock.advance(TimeDelta::seconds(seconds));
        let status = tiktok.call(&token, "/v2/post/publish/status/fetch/", &json!({ "publish_id": id })).await;
        let post_ids = status["data"]["publicaly_available_post_id"].as_array().unwrap().len();
        statuses.push((status["data"]["status"].as_str().unwrap().to_owned(), post_ids));
    }
    let expected = [("PROCESSING_UPLOAD", 0), ("PUBLISH_COMPLETE", 0), ("PUBLISH_COMPLETE", 1)];
    assert_eq!(statuses, expected.map(|(status, post_ids)| (status.to_owned(), post_ids)));
    let listed = tiktok.call(&token, "/v2/video/list/?fields=id,title", &json!({ "max_count": 20 })).await;
    assert_eq!(listed["data"]["videos"][0]["title"], "a boat");
    assert_eq!(tiktok.public_posts()[0].media[0].bytes, video);
}
