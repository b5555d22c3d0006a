//! Pages with which a proxy or firewall answers instead of Instagram.

use chrono::TimeDelta;
use domain::delivery::{Resolution, Setback};
use domain::media::MimeType;
use http::StatusCode;
use networks::meta::error::GraphError;
use platforms::conformance::network::Network;
use platforms::conformance::samples::sample;

use super::{prepared_until, stage};

#[tokio::test]
async fn a_page_of_a_proxy_ends_neither_a_grant_nor_a_post() {
    let (stage, account) = stage().await;
    for (sent, status) in (1..).zip([400, 401, 403, 404, 408, 413].map(|it| StatusCode::from_u16(it).unwrap())) {
        let page = || GraphError::page(status);
        stage.network.refuses("me", page());
        let about = stage.connecting().about(&account.profile, &account.credentials, stage.clock.now()).await;
        assert!(matches!(about, Err(Setback::Busy { .. })), "{status}: {about:?}");

        for path in ["content_publishing_limit", "media", "id"] {
            stage.network.refuses(path, page());
        }
        let mut post = stage.post(&account, &format!("at {status}"), vec![sample(MimeType::Jpeg, 1)]);
        let end = stage.clock.now() + TimeDelta::hours(6);
        let setbacks = prepared_until(&stage, &mut post, end).await;
        assert!(setbacks.len() == 3 && setbacks.iter().all(|it| matches!(it, Setback::Busy { .. })), "{setbacks:?}");

        let since = stage.clock.now();
        stage.network.refuses("media_publish", page());
        let setback = stage.publish(&post).await.unwrap_err();
        assert!(matches!(setback, Setback::Unknown { may_still_run: true, .. }), "{setback:?}");
        stage.network.refuses("id", page());
        let resolution = stage.resolve(&post, since).await;
        assert!(matches!(resolution, Resolution::Unclear { .. }), "{status}: {resolution:?}");

        stage.deliver(&mut post).await.unwrap();
        assert_eq!(stage.network.public().len(), sent);
    }
}
