use chrono::TimeDelta;
use domain::media::MimeType;
use http::Method;
use platforms::conformance::fake_platform::{FakePlatform, PublicMedium, PublicPost};
use serde_json::{Value, json};

use crate::client::{Body, Client, PNG, TID, post};

const PUT: &str = "com.atproto.repo.putRecord";
const GET: &str = "com.atproto.repo.getRecord";

fn with_image(text: &str, blob: &Value) -> Value {
    let mut record = post(text);
    let images = json!([{ "alt": "", "image": blob, "aspectRatio": { "width": 1, "height": 1 } }]);
    record["embed"] = json!({ "$type": "app.bsky.embed.images", "images": images });
    record
}

#[tokio::test]
async fn a_post_is_public_once_however_often_it_is_sent() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    let blob = client.upload(&token, "image/jpeg", PNG).await.body["blob"].clone();
    assert_eq!(blob["mimeType"], "image/png", "files are looked into");
    assert!(blob["ref"]["$link"].as_str().unwrap().starts_with("bafkrei"));
    let record = with_image("hello", &blob);

    let first = client.put(&token, TID, &record).await;
    let again = client.put(&token, TID, &record).await;

    let uri = format!("at://{}/app.bsky.feed.post/{TID}", client.fake.did());
    assert_eq!((first.body["uri"].as_str(), first.body["validationStatus"].as_str()), (Some(&*uri), Some("valid")));
    assert!(first.text("cid").starts_with("bafyrei"));
    assert!(first.body["commit"]["rev"].is_string() && again.body["commit"].is_null());
    assert_eq!(first.body["cid"], again.body["cid"]);
    assert_eq!(client.fake.commits(), 1);
    assert_eq!(client.fake.record(&uri), Some(record));
    let medium = PublicMedium { mime_type: MimeType::Png, bytes: PNG.to_vec(), alt_text: None };
    assert_eq!(
        client.fake.public_posts(),
        [PublicPost { id: uri, text: "hello".into(), media: vec![medium], reply_to: None }]
    );
}

#[tokio::test]
async fn a_key_is_written_over_unless_nothing_may_be_there() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    let create = async |text: &str| {
        let mut writing = client.writing(TID, &post(text));
        writing["swapRecord"] = Value::Null;
        client.call(Method::POST, PUT, &token, Body::Json(&writing)).await
    };

    assert_eq!(create("one").await.status, 200);
    assert_eq!(create("one").await.status, 200, "the same again is no other");
    assert_eq!(create("two").await.error(), (400, "InvalidSwap"));
    assert_eq!(client.put(&token, TID, &post("three")).await.status, 200);

    let posts = client.fake.public_posts();
    assert_eq!(posts.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["three"]);
    let writing = client.writing(TID, &post("four"));
    let created = client.call(Method::POST, "com.atproto.repo.createRecord", &token, Body::Json(&writing)).await;
    assert_eq!(created.error(), (500, "InternalServerError"));
}

#[tokio::test]
async fn a_record_can_be_read_by_everybody() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    let name = format!("{GET}?repo=alice.test&collection=app.bsky.feed.post&rkey={TID}");

    assert_eq!(client.bearer(Method::GET, &name, "", Body::Nothing).await.error(), (400, "RecordNotFound"));
    client.put(&token, TID, &post("hello")).await;
    let found = client.bearer(Method::GET, &name, "", Body::Nothing).await;
    assert_eq!(found.body["value"], post("hello"));
    let list = format!("com.atproto.repo.listRecords?repo={}&collection=app.bsky.feed.post", client.fake.did());
    let list = client.bearer(Method::GET, &list, "", Body::Nothing).await;
    assert_eq!(list.body["records"][0]["value"], post("hello"));
}

#[tokio::test]
async fn records_that_no_schema_allows_are_refused() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    for rkey in ["self", "3m5xkqh2v4k2", "zzzzzzzzzzzzz", ""] {
        assert_eq!(client.put(&token, rkey, &post("hello")).await.error(), (400, "InvalidRequest"), "{rkey}");
    }
    let mut cutting = post("é");
    let feature = json!({ "$type": "app.bsky.richtext.facet#tag", "tag": "x" });
    cutting["facets"] = json!([{ "index": { "byteStart": 0, "byteEnd": 1 }, "features": [feature] }]);
    let mut fraction = post("hello");
    fraction["half"] = json!(0.5);
    let mut other_type = post("hello");
    other_type["$type"] = json!("app.bsky.feed.like");
    for record in [post(&"x".repeat(301)), cutting, fraction, other_type, json!("hello")] {
        let response = client.put(&token, TID, &record).await;
        assert_eq!(response.error(), (400, "InvalidRequest"), "{record}");
    }
    let response = client.put(&token, TID, &post(&"x".repeat(1_000_001))).await;
    assert_eq!(response.error(), (413, "PayloadTooLarge"));
    let mut elsewhere = client.writing(TID, &post("hello"));
    elsewhere["repo"] = client.fake.other_did().into();
    let response = client.call(Method::POST, PUT, &token, Body::Json(&elsewhere)).await;
    assert_eq!(response.error(), (401, "AuthenticationRequired"));
    assert!(client.fake.public_posts().is_empty());
}

#[tokio::test]
async fn a_reply_follows_records_of_its_thread() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    let key = |number: usize| format!("{}{}", &TID[..12], ["a", "b", "c", "d", "e"][number]);
    let put = async |number: usize, reply: Value| {
        let mut record = post(&format!("number {number}"));
        if !reply.is_null() {
            record["reply"] = reply;
        }
        client.put(&token, &key(number), &record).await
    };
    let reference = |it: &crate::client::PdsResponse| json!({ "uri": it.text("uri"), "cid": it.text("cid") });
    let root = reference(&put(0, Value::Null).await);
    let other_root = reference(&put(1, Value::Null).await);
    let first = reference(&put(2, json!({ "root": root, "parent": root })).await);

    for wrong in [
        json!({}),
        json!({ "parent": first }),
        json!({ "root": root, "parent": { "uri": first["uri"] } }),
        json!({ "root": root, "parent": { "uri": first["uri"], "cid": root["cid"] } }),
        json!({ "root": root, "parent": { "uri": "at://did:plc:a/app.bsky.feed.post/3k", "cid": root["cid"] } }),
        json!({ "root": other_root, "parent": first }),
        json!({ "root": first, "parent": first }),
    ] {
        assert_eq!(put(3, wrong.clone()).await.error(), (400, "InvalidRequest"), "{wrong}");
    }

    assert_eq!(put(3, json!({ "root": root, "parent": first })).await.status, 200);
    let parents: Vec<_> = client.fake.public_posts().into_iter().map(|it| it.reply_to).collect();
    let uri = |reference: &Value| reference["uri"].as_str().map(str::to_owned);
    assert_eq!(parents, [None, None, uri(&root), uri(&first)]);
}

#[tokio::test]
async fn a_record_refers_to_files_as_they_are() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    let blob = client.upload(&token, "image/png", PNG).await.body["blob"].clone();
    let with = |name: &str, value: Value| {
        let mut blob = blob.clone();
        blob[name] = value;
        with_image("hello", &blob)
    };
    let unknown = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
    for (record, error) in [
        (with("ref", json!({ "$link": unknown })), "BlobNotFound"),
        (with("mimeType", json!("image/jpeg")), "InvalidMimeType"),
        (with("mimeType", json!("video/mp4")), "InvalidRequest"),
        (with("size", json!(1)), "InvalidSize"),
        (with("size", json!(2_000_001)), "InvalidRequest"),
        (with("extra", json!(1)), "InvalidRequest"),
    ] {
        assert_eq!(client.put(&token, TID, &record).await.error(), (400, error), "{record}");
    }

    client.clock.advance(TimeDelta::minutes(61));
    let token = client.connect().await.access;
    let gone = client.put(&token, TID, &with_image("late", &blob)).await;
    assert_eq!(gone.error(), (400, "BlobNotFound"));
    client.upload(&token, "image/png", PNG).await;
    assert_eq!(client.put(&token, TID, &with_image("late", &blob)).await.status, 200);
}

#[tokio::test]
async fn a_file_has_a_type_a_length_and_an_end() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    client.fake.set_blob_limit(40);
    let limits = client.bearer(Method::GET, "com.atproto.server.describeServer", "", Body::Nothing).await;
    assert_eq!(limits.body["blobUploadLimit"], 40);

    assert_eq!(client.upload(&token, "image/png", &[0; 40]).await.status, 200);
    assert_eq!(client.upload(&token, "image/png", &vec![0; 3_000_000]).await.error(), (413, "PayloadTooLarge"));
    let untyped = client.call(Method::POST, "com.atproto.repo.uploadBlob", &token, Body::File("", &[0])).await;
    assert_eq!(untyped.error(), (400, "InvalidRequest"));
}

#[tokio::test]
async fn an_account_that_is_away_does_not_write() {
    let client = Client::new().await;
    let token = client.connect().await.access;

    client.fake.deactivate();
    assert_eq!(client.put(&token, TID, &post("hello")).await.error(), (401, "AccountDeactivated"));
    let session = client.call(Method::GET, "com.atproto.server.getSession", &token, Body::Nothing).await;
    assert_eq!((&session.body["active"], &session.body["status"]), (&json!(false), &json!("deactivated")));
    client.fake.reactivate();
    assert_eq!(client.put(&token, TID, &post("hello")).await.status, 200);

    client.fake.take_down();
    assert_eq!(client.put(&token, TID, &post("again")).await.error(), (401, "invalid_token"));
    assert_eq!(client.fake.grant_count(), 0);
}
