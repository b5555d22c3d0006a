use std::convert::Infallible;

use reqwest::{Client, StatusCode};

use super::*;
use crate::testing::TestBucket;

const KEY: &str = "media/7/42.png";
const HOUR: Duration = Duration::from_hours(1);

fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

async fn upload(put: &PresignedPut, other: &[(&str, &str)], body: Vec<u8>) -> StatusCode {
    let mut headers = put.headers.clone();
    for (name, value) in other {
        headers.insert((*name).to_owned(), (*value).to_owned());
    }
    headers.retain(|_, value| !value.is_empty());
    let mut request = client().put(&put.url).body(body);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.send().await.unwrap().status()
}

fn pieces(sizes: impl IntoIterator<Item = usize>) -> Vec<Result<Bytes, Infallible>> {
    sizes.into_iter().zip(1_u8..).map(|(size, byte)| Ok(Bytes::from(vec![byte; size]))).collect()
}

async fn stored(bucket: &Bucket) -> Vec<u8> {
    let mut pieces = bucket.open(KEY).await.unwrap().unwrap();
    let mut all = Vec::new();
    while let Some(piece) = pieces.next().await {
        all.extend_from_slice(&piece.unwrap());
    }
    all
}

#[tokio::test]
async fn upload_with_presigned_headers_is_stored() {
    let store = TestBucket::start().await;
    let put = store.bucket.presigned_put(KEY, "image/png", None, HOUR).await.unwrap();

    assert!(put.url.starts_with(&format!("{}/media/{KEY}?", store.endpoint)), "{}", put.url);
    let headers: Vec<_> = put.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(headers, [("content-type", "image/png"), ("if-none-match", "*")]);
    assert_eq!(upload(&put, &[], b"hello".to_vec()).await, StatusCode::OK);

    let link = store.bucket.presigned_get(KEY, HOUR).await.unwrap();
    let read = client().get(link).send().await.unwrap();
    assert_eq!(read.headers()["content-type"], "image/png");
    assert_eq!(read.bytes().await.unwrap(), "hello");
}

#[tokio::test]
async fn upload_with_another_content_type_is_refused() {
    let store = TestBucket::start().await;
    let put = store.bucket.presigned_put(KEY, "image/png", None, HOUR).await.unwrap();

    for wrong in ["text/html", ""] {
        let status = upload(&put, &[("content-type", wrong)], b"hello".to_vec()).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{wrong:?}");
    }

    assert_eq!(store.bucket.head(KEY, 1).await.unwrap(), None);
}

#[tokio::test]
async fn presigned_size_is_enforced() {
    let store = TestBucket::start().await;
    let put = store.bucket.presigned_put(KEY, "image/png", Some(5), HOUR).await.unwrap();
    assert_eq!(put.headers["content-length"], "5");

    for wrong in ["hell", "hello!"] {
        let length = [("content-length", "")];
        assert_eq!(upload(&put, &length, wrong.into()).await, StatusCode::FORBIDDEN, "{wrong}");
    }
    assert_eq!(store.bucket.head(KEY, 1).await.unwrap(), None);

    assert_eq!(upload(&put, &[], b"hello".to_vec()).await, StatusCode::OK);
    assert_eq!(stored(&store.bucket).await, b"hello");
}

#[tokio::test]
async fn second_upload_does_not_replace_the_first() {
    let store = TestBucket::start().await;
    let put = store.bucket.presigned_put(KEY, "image/png", None, HOUR).await.unwrap();
    assert_eq!(upload(&put, &[], b"first".to_vec()).await, StatusCode::OK);

    assert_eq!(upload(&put, &[], b"second".to_vec()).await, StatusCode::PRECONDITION_FAILED);
    let without = [("if-none-match", "")];
    assert_eq!(upload(&put, &without, b"second".to_vec()).await, StatusCode::FORBIDDEN);

    assert_eq!(stored(&store.bucket).await, b"first");
}

#[tokio::test]
async fn presigned_url_is_valid_for_one_key() {
    let store = TestBucket::start().await;
    let mut put = store.bucket.presigned_put(KEY, "image/png", None, HOUR).await.unwrap();
    put.url = put.url.replace("/media/7/42.png", "/media/8/42.png");

    assert_eq!(upload(&put, &[], b"hello".to_vec()).await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn read_head_returns_size_and_first_bytes() {
    let store = TestBucket::start().await;
    assert_eq!(store.bucket.head(KEY, 4).await.unwrap(), None);

    for (content, first) in [(b"".as_slice(), b"".as_slice()), (b"abc", b"abc"), (b"abcdefgh", b"abcd")] {
        let bytes = futures::stream::iter([Ok::<_, Infallible>(Bytes::from_static(content))]);
        let size_bytes = store.bucket.put(KEY, "image/png", bytes).await.unwrap();
        let head = store.bucket.head(KEY, 4).await.unwrap().unwrap();
        assert_eq!(head, FileHead { size_bytes, first_bytes: Bytes::from_static(first) });
        assert_eq!(size_bytes, content.len() as u64);
    }
}

#[tokio::test]
async fn file_of_any_length_is_stored_unchanged() {
    let part = 8 << 20;
    for sizes in [vec![], vec![5], vec![part], vec![3 << 20; 3], vec![2 * part + 1]] {
        let store = TestBucket::start().await;
        let expected: Vec<u8> = pieces(sizes.clone()).into_iter().flat_map(Result::unwrap).collect();

        let size = store.bucket.put(KEY, "image/png", futures::stream::iter(pieces(sizes.clone()))).await;

        assert_eq!(size.unwrap(), expected.len() as u64, "{sizes:?}");
        assert!(stored(&store.bucket).await == expected, "{sizes:?}");
        let link = store.bucket.presigned_get(KEY, HOUR).await.unwrap();
        let read = client().get(link).send().await.unwrap();
        assert_eq!(read.headers()["content-type"], "image/png", "{sizes:?}");
    }
}

#[tokio::test]
async fn failed_source_leaves_nothing_in_the_bucket() {
    for whole in [vec![5], vec![5 << 20; 4]] {
        let store = TestBucket::start().await;
        let good = pieces(whole.clone()).into_iter().map(|it| it.map_err(|never| match never {}));
        let bytes = futures::stream::iter(good.chain([Err("broken")]));

        let put = store.bucket.put(KEY, "image/png", bytes).await;

        assert!(matches!(put, Err(PutError::Source("broken"))), "{put:?}");
        assert_eq!(store.files(), Vec::<String>::new(), "{whole:?}");
    }
}

#[tokio::test]
async fn deleting_a_deleted_file_succeeds() {
    let store = TestBucket::start().await;
    store.bucket.put(KEY, "image/png", futures::stream::iter(pieces([5]))).await.unwrap();

    store.bucket.delete(KEY).await.unwrap();
    store.bucket.delete(KEY).await.unwrap();

    assert!(store.bucket.open(KEY).await.unwrap().is_none());
    assert_eq!(store.bucket.head(KEY, 1).await.unwrap(), None);
}

#[tokio::test]
async fn range_of_a_file_is_read() {
    let store = TestBucket::start().await;
    store.bucket.put(KEY, "image/png", futures::stream::iter([Ok::<_, Infallible>("abcdef".into())])).await.unwrap();
    for (range, expected) in [(0..6, "abcdef"), (1..4, "bcd"), (4..900, "ef"), (6..9, ""), (3..3, "")] {
        let pieces: Vec<_> = store.bucket.open_range(KEY, range.clone()).await.unwrap().unwrap().collect().await;
        let part: Vec<u8> = pieces.into_iter().flat_map(Result::unwrap).collect();
        assert_eq!(part, expected.as_bytes(), "{range:?}");
    }
    assert!(store.bucket.open_range("media/7/43.png", 0..1).await.unwrap().is_none());
}
