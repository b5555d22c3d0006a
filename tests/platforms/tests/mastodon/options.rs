//! What is said on Mastodon alone.

use chrono::TimeDelta;
use domain::delivery::{Resolution, Setback};
use domain::options::{OptionValue, Options};
use networks::mastodon::{Snac, Stock};
use platforms::conformance::network::{Call, Network, Trouble};

use super::{picture, stage};

fn options<const N: usize>(given: [(&str, OptionValue); N]) -> Options {
    given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[tokio::test]
async fn options_arrive_and_what_is_not_said_is_the_accounts_own_setting() {
    let (stage, account) = stage::<Stock>().await;
    stage.network.publishes_as("private");
    let mut plain = stage.post(&account, "as the account has it", Vec::new());
    stage.deliver(&mut plain).await.unwrap();
    assert_eq!(stage.network.latest().unwrap(), ("private".to_owned(), String::new(), false, None));

    let mut post = stage.post(&account, "with everything", picture());
    let warning = "Boats & \"oars\"";
    post.options = options([
        ("visibility", OptionValue::Text("unlisted".to_owned())),
        ("content_warning", OptionValue::Text(warning.to_owned())),
        ("sensitive", OptionValue::Flag(true)),
        ("language", OptionValue::Text("de".to_owned())),
    ]);
    stage.deliver(&mut post).await.unwrap();

    let said = ("unlisted".to_owned(), warning.to_owned(), true, Some("de".to_owned()));
    assert_eq!(stage.network.latest().unwrap(), said);
}

#[tokio::test]
async fn where_the_listing_may_lack_it_a_lost_post_is_not_sent_again() {
    let (stage, account) = stage::<Snac>().await;
    for (visibility, is_told) in [(None, true), (Some("public"), true), (Some("private"), false)] {
        let mut post = stage.due(&account, &format!("to {visibility:?}"), Vec::new()).await;
        if let Some(visibility) = visibility {
            post.options = options([("visibility", OptionValue::Text(visibility.to_owned()))]);
        }
        stage.network.trouble(Call::Publish, Trouble::LoseAnswer, 1);
        let since = stage.clock.now();
        let lost = stage.publish(&post).await;
        assert!(matches!(lost, Err(Setback::Unknown { .. })), "{lost:?}");

        stage.clock.advance(TimeDelta::minutes(3));
        let answer = stage.resolve(&post, since).await;
        match answer {
            Resolution::Recognised(_) | Resolution::Public(_) => assert!(is_told, "{answer:?}"),
            Resolution::Unknowable { .. } => assert!(!is_told, "{answer:?}"),
            other => panic!("{visibility:?}: {other:?}"),
        }
    }
}
