//! A plain client is refused what the documents refuse.

use domain::testing::noon;

use super::*;
use crate::conformance::fake_platform::FakePlatform;
use crate::fake::wire::browser;

struct Client {
    google: GoogleBusiness,
    token: String,
}

impl Client {
    async fn new() -> Self {
        let google = GoogleBusiness::start(Clock::manual(noon())).await;
        let mut oauth = google.fake.oauth();
        let index = oauth.grant(&google.fake.app, vec![SCOPE.to_owned()], USER, noon());
        let token = oauth.grants[index].access_token.clone();
        drop(oauth);
        Self { google, token }
    }

    /// Calls a path, with the method POST if there is a body.
    async fn call(&self, path: &str, body: Option<&Value>) -> Value {
        let url = format!("{}/{path}", self.google.base_url());
        let request = body.map_or_else(|| browser().get(&url), |it| browser().post(&url).json(it));
        let response = request.bearer_auth(&self.token).send().await.unwrap();
        let (status, body) = (response.status(), response.json::<Value>().await.unwrap_or_default());
        assert!(status == 200 || status == 404 && body.is_null() || body["error"]["code"] == status.as_u16(), "{body}");
        body
    }

    async fn create(&self, post: &Value) -> Value {
        self.call(&format!("v4/{LOCATION}/localPosts"), Some(post)).await
    }
}

#[tokio::test]
async fn what_the_documents_refuse_is_refused() {
    let client = Client::new().await;
    let date = json!({ "year": 2028, "month": 2, "day": 29 });
    let schedule =
        json!({ "startDate": date, "startTime": { "hours": 9 }, "endDate": date, "endTime": { "hours": 17 } });
    let event =
        json!({ "topicType": "EVENT", "summary": "Boats", "event": { "title": "Regatta", "schedule": schedule } });
    assert!(client.create(&event).await["name"].is_string());
    let url = "https://boats.example/1";
    let media = |format: &str| json!({ "mediaFormat": format, "sourceUrl": url });
    for (pointer, value, message) in [
        ("/topicType", json!("LOCAL_POST_TOPIC_TYPE_UNSPECIFIED"), "Topic type is required for post creation."),
        ("/topicType", json!("OFFER"), "offer is required"),
        ("/topicType", json!("STANDARD"), "Not supported for this topic type"),
        ("/summary", json!("🚣".repeat(751)), "Must be at most 1500 characters"),
        ("/event/title", json!("x".repeat(59)), "Must be at most 58 characters"),
        ("/event/schedule/startDate/day", json!(30), "Invalid schedule"),
        ("/event/schedule/endTime", json!({}), "Invalid schedule"),
        ("/callToAction", json!({ "actionType": "CALL", "url": url }), "Not supported for CALL"),
        (
            "/callToAction",
            json!({ "phoneNumber": "1" }),
            "Unknown name \\\"phoneNumber\\\" at 'local_post.call_to_action'",
        ),
        ("/media", json!([media("PHOTO"), media("PHOTO")]), "Must have at most 1 item"),
        ("/media", json!([media("VIDEO")]), "INTERNAL"),
    ] {
        let mut post = event.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        post.pointer_mut(parent).unwrap()[name] = value;
        let error = client.create(&post).await.to_string();
        assert!(error.contains(message), "{pointer}: {error}");
    }

    let crossed = LOCATION.replace("101945832217235206545", "117700112233445566778");
    let list = |name: &str| format!("{name}/localPosts");
    assert_eq!(client.call(&list(&format!("v4/{crossed}")), None).await["error"]["status"], "NOT_FOUND");
    assert_eq!(client.call(&list("v4/locations/12341542785316514846"), None).await, Value::Null, "a page");
    let error = client.call("v1/locations/12341542785316514846?readMask=attributes", None).await;
    assert_eq!(error["error"]["details"][0]["fieldViolations"][0]["field"], "read_mask");
    let first = client.call("v1/accounts/101945832217235206545/locations?readMask=metadata.canOperateLocalPost", None);
    assert_eq!(first.await, json!({ "locations": [{}], "nextPageToken": "page-1" }), "what is false is absent");
    client.google.refuses("/v4/", 403, api_error::service_disabled("Google My Business API", SERVICE));
    assert_eq!(client.create(&event).await["error"]["details"][1]["reason"], "SERVICE_DISABLED");
}
