//! What is said on Mastodon alone.

use domain::options::OptionValue;
use networks::mastodon::Stock;

use super::{picture, stage};

#[tokio::test]
async fn options_arrive_and_what_is_not_said_is_the_accounts_own_setting() {
    let (stage, account) = stage::<Stock>().await;
    stage.network.publishes_as("private");
    let mut plain = stage.post(&account, "as the account has it", Vec::new());
    stage.deliver(&mut plain).await.unwrap();
    assert_eq!(stage.network.latest().unwrap(), ("private".to_owned(), String::new(), false, None));

    let mut post = stage.post(&account, "with everything", picture());
    let warning = "Boats & \"oars\"";
    post.options = [
        ("visibility", OptionValue::Text("unlisted".to_owned())),
        ("content_warning", OptionValue::Text(warning.to_owned())),
        ("sensitive", OptionValue::Flag(true)),
        ("language", OptionValue::Text("de".to_owned())),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    stage.deliver(&mut post).await.unwrap();

    let said = ("unlisted".to_owned(), warning.to_owned(), true, Some("de".to_owned()));
    assert_eq!(stage.network.latest().unwrap(), said);
}
