//! The shared modules behave as Meta's documentation states.

use axum::response::IntoResponse;
use chrono::TimeDelta;
use domain::media::{Facts, MimeType, Pixels};
use domain::testing::noon;
use http::{HeaderMap, HeaderValue, header};
use serde_json::json;

use super::access::{Proof, accept};
use super::containers::{Containers, LIVES, State};
use super::error::GraphError;
use super::fetched::{Fetched, FileProblem, Limits, NotFetched, fetch, fetch_medium};
use super::fields::Fields;
use super::lists::Page;
use super::long_lived::{LONG, LongLived, SHORT};
use super::select::Node;
use super::{Ids, time};
use crate::fake::oauth::{OAuth, Refresh, Rules};

const RULES: Rules =
    Rules { access_lives: Some(SHORT), refresh: Refresh::None, scopes: &["a", "b"], ..Rules::STANDARD };

const TOKENS: LongLived = LongLived { exchange: "th_exchange_token", refresh: "th_refresh_token" };

fn form(text: &str) -> Fields {
    Fields::read(text, "", b"").unwrap()
}

#[test]
fn unknown_parameter_is_refused() {
    let mut fields = Fields::read("a=1", "application/x-www-form-urlencoded", b"b=true&list=1,2").unwrap();
    assert_eq!((fields.text("a").as_deref(), fields.flag("b")), (Some("1"), Ok(Some(true))));
    assert_eq!(fields.list("list"), Ok(Some(vec!["1".to_owned(), "2".to_owned()])));
    assert!(fields.clone().end().is_ok());
    assert_eq!(form("c=1").end().unwrap_err().code(), 100);
    assert!(Fields::read("a=1", "application/x-www-form-urlencoded", b"a=1").is_err(), "twice");
    assert!(Fields::read("", "text/plain", b"a=1").is_err());
    let mut fields = Fields::read("", "application/json", br#"{"poll":{"x":1},"text":"a"}"#).unwrap();
    assert_eq!(fields.json("poll"), Ok(Some(json!({ "x": 1 }))));
    assert_eq!(fields.want("text"), Ok("a".to_owned()));
    assert!(form("n=11").number("n", 1, 10).is_err() && form("n=x").number("n", 1, 10).is_err());
    assert!(form("who=nobody").one_of("who", &["everyone"]).is_err());
}

#[test]
fn call_needs_valid_token_scopes_and_app_secret_proof() {
    let mut oauth = OAuth::new(RULES);
    let app = oauth.register("https://here.example/back");
    let at = oauth.grant(&app, vec!["a".to_owned()], "ada", noon());
    let token = oauth.grants[at].access_token.clone();
    let ask = |oauth: &OAuth, query: &str, scopes: &[&str], now| {
        let accepted = accept(oauth, &HeaderMap::new(), &mut form(query), Proof::Unknown, scopes, now);
        accepted.map(|it| it.account.clone()).map_err(|it| it.code())
    };
    let query = format!("access_token={token}");

    assert_eq!(ask(&oauth, &query, &["a"], noon()), Ok("ada".to_owned()));
    assert_eq!(ask(&oauth, "", &["a"], noon()), Err(104));
    assert_eq!(ask(&oauth, "access_token=x", &["a"], noon()), Err(190));
    assert_eq!(ask(&oauth, &query, &["a", "b"], noon()), Err(10));
    assert_eq!(ask(&oauth, &query, &["a"], noon() + SHORT), Err(190));
    let mut headers = HeaderMap::new();
    headers.insert(header::AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
    let proven = |query: &str| accept(&oauth, &headers, &mut form(query), Proof::Required, &["a"], noon()).is_ok();
    assert!(!proven("") && !proven("appsecret_proof=00"));
    oauth.revoke_all();
    assert_eq!(ask(&oauth, &query, &["a"], noon()), Err(190));
}

#[test]
fn long_token_needs_a_short_token_or_a_day_old_long_one() {
    let mut oauth = OAuth::new(RULES);
    let app = oauth.register("https://here.example/back");
    let at = oauth.grant(&app, Vec::new(), "ada", noon());
    let exchange = |oauth: &mut OAuth, secret: &str, now| {
        let token = oauth.grants[at].access_token.clone();
        let fields = form(&format!("grant_type=th_exchange_token&client_secret={secret}&access_token={token}"));
        TOKENS.exchange(oauth, fields, now).map(|it| it["expires_in"].clone()).map_err(|it| it.code())
    };
    let refresh = |oauth: &mut OAuth, now| {
        let token = oauth.grants[at].access_token.clone();
        let fields = form(&format!("grant_type=th_refresh_token&access_token={token}"));
        TOKENS.refresh(oauth, fields, now).map(|it| it["expires_in"].clone()).map_err(|it| it.code())
    };
    let day = TimeDelta::days(1);

    assert_eq!(exchange(&mut oauth, "wrong", noon()), Err(1));
    assert_eq!(refresh(&mut oauth, noon()), Err(100), "a short one");
    assert_eq!(exchange(&mut oauth, &app.client_secret, noon()), Ok(json!(LONG.num_seconds())));
    assert_eq!(exchange(&mut oauth, &app.client_secret, noon()), Err(452), "a long one");
    assert_eq!(refresh(&mut oauth, noon() + day - TimeDelta::seconds(1)), Err(100));
    assert_eq!(refresh(&mut oauth, noon() + day), Ok(json!(LONG.num_seconds())));
    assert_eq!(refresh(&mut oauth, noon() + day + LONG), Err(190));
}

#[test]
fn container_is_processed_expires_and_is_published_once() {
    let (mut ids, mut all) = (Ids::default(), Containers::default());
    let second = TimeDelta::seconds(1);
    let good = all.make(&mut ids, "a", second, None, noon());
    let bad = all.make(&mut ids, "b", second, Some("UNKNOWN".to_owned()), noon());
    let state = |all: &Containers<_>, id: &str, now| all.get(id).unwrap().state(now);

    assert_eq!(state(&all, &good, noon()), State::Working);
    assert_eq!(all.publish(&good, noon()), Some(Err(State::Working)));
    assert_eq!(state(&all, &good, noon() + second), State::Ready);
    assert_eq!(state(&all, &bad, noon() + second), State::Failed("UNKNOWN".to_owned()));
    assert_eq!(state(&all, &good, noon() + LIVES), State::Expired);
    assert_eq!(all.publish(&good, noon() + second), Some(Ok(&"a")));
    assert_eq!(all.publish(&good, noon() + second), Some(Err(State::Public)));
    assert_eq!(state(&all, &good, noon() + LIVES), State::Public);
    assert_eq!(all.publish("17", noon()), None);
}

#[test]
fn lists_have_pages_and_nodes_have_the_requested_fields() {
    let entries = || (0..3).map(|it| json!({ "id": it.to_string() })).collect::<Vec<_>>();
    let page = |query: &str| Page::asked(&mut form(query)).unwrap().respond(entries(), "https://graph.threads.net/x");
    let first = page("limit=2");
    let after = first["paging"]["cursors"]["after"].as_str().unwrap();
    assert!(first["data"].as_array().unwrap().len() == 2 && first["paging"]["next"].is_string());
    let second = page(&format!("limit=2&after={after}"));
    assert!(second["data"] == json!([{ "id": "2" }]) && second["paging"]["next"].is_null());
    assert!(Page::asked(&mut form("limit=101")).is_err() && Page::asked(&mut form("after=x")).is_err());

    let node = Node { kind: "Thing", fields: &["text", "at"], unasked: &[] };
    let thing = json!({ "id": "7", "text": "a", "at": null });
    assert_eq!(node.select(&thing, None), Ok(json!({ "id": "7" })));
    assert_eq!(node.select(&thing, Some("id,text,at")), Ok(json!({ "id": "7", "text": "a" })));
    assert!(node.select(&thing, Some("words")).is_err());
}

#[test]
fn file_limits_are_checked() {
    const LIMITS: Limits = Limits {
        types: &[MimeType::Png, MimeType::Mp4],
        max_bytes: 40,
        narrowest: (4, 5),
        widest: (191, 100),
        runs: (90_000, 3_000),
    };
    let file = |mime_type, bytes: &[u8], pixels: Option<(u32, u32)>, duration_ms| {
        let pixels = pixels.and_then(|(width, height)| Pixels::new(width, height));
        LIMITS.check(&Fetched {
            mime_type,
            bytes: bytes.to_vec(),
            facts: Facts { pixels, duration_ms, ..Facts::default() },
        })
    };
    let (png, mp4) = (MimeType::Png, MimeType::Mp4);
    assert_eq!(file(png, b"x", Some((4, 5)), None), None);
    assert_eq!(file(png, b"x", Some((191, 100)), None), None);
    assert_eq!(file(png, b"x", Some((79, 100)), None), Some(FileProblem::Ratio));
    assert_eq!(file(png, b"x", Some((192, 100)), None), Some(FileProblem::Ratio));
    assert_eq!(file(MimeType::Webp, b"x", None, None), Some(FileProblem::Type));
    assert_eq!(file(png, &[0; 41], None, None), Some(FileProblem::Size));
    assert_eq!(file(mp4, b"x", None, Some(2_999)), Some(FileProblem::Duration));
    assert_eq!(file(mp4, b"\0\0\0\x08ftyp\0\0\0\x08moov\0\0\0\x08mdat", None, None), None);
    assert_eq!(file(mp4, b"\0\0\0\x08ftyp\0\0\0\x08mdat\0\0\0\x08moov", None, None), Some(FileProblem::DescribedLast));
}

#[tokio::test]
async fn only_publicly_fetchable_files_are_fetched() {
    for address in ["", "x", "ftp://a.example/1.png", "http://a.example/1.png", "https://me:pw@a.example/1.png"] {
        assert_eq!(fetch(address, &[]).await.unwrap_err(), NotFetched::NoAddress, "{address}");
    }
    assert_eq!(fetch("http://127.0.0.1:1/1.png", &[]).await.unwrap_err(), NotFetched::NotThere);
}

#[tokio::test]
async fn refused_host_or_url_is_never_called() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/1.png", listener.local_addr().unwrap());

    let refused = fetch(&address, &["127.0.0.1".to_owned()]).await;

    assert_eq!(refused.unwrap_err(), NotFetched::HostRefused);
    for address in
        [format!("{address}?X-Amz-Signature=1"), format!("{address}#1"), address.replace("/1", &"/1".repeat(100))]
    {
        assert_eq!(fetch_medium(false, &address, &[]).await.unwrap_err(), NotFetched::AddressRefused, "{address}");
    }
    let mut accepting = std::pin::pin!(listener.accept());
    assert!(futures::poll!(accepting.as_mut()).is_pending(), "nothing has connected");
}

#[test]
fn error_has_code_subcode_and_retry_time() {
    let limited = GraphError::limited(3).into_response();
    let header = limited.headers().get("x-business-use-case-usage").unwrap().to_str().unwrap();
    assert!(header.contains(r#""estimated_time_to_regain_access":3"#), "{header}");
    assert_eq!(time(noon()), format!("{}+0000", noon().format("%Y-%m-%dT%H:%M:%S")));
}
