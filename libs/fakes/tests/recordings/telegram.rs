use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::conformance::fake_platform::{FakePlatform, start_fake};
use fakes::telegram::{GROUP, Telegram};

use crate::{KnownDifferences, exchanges_with, hold};

const WITH_A_PERSON: &str = "of groups and channels; the recorded chat has a person";

const KNOWN: KnownDifferences = KnownDifferences {
    differences: &[
        ("POST /bot{token}/getChat", "/result/username: unexpected", "of public chats; the recorded one is private"),
        ("POST /bot{token}/getChatMember", "/result/can_post_messages: unexpected", "the recorded chat is a group"),
        ("POST /bot{token}/sendPhoto", "/result/chat/title: unexpected", WITH_A_PERSON),
        ("POST /bot{token}/sendVideo", "/result/chat/title: unexpected", WITH_A_PERSON),
    ],
    unmet: &[],
};

#[tokio::test]
async fn telegram_answers_as_recorded() {
    let further = async {
        let harness = AdapterHarness::<Telegram>::new().await;
        harness.fake.make_group();
        let mut typed = harness.fake.form_values();
        typed.insert("chat".to_owned(), GROUP.to_string().into());
        harness.authorize(&typed).await.unwrap();
    };
    hold("telegram", &exchanges_with(start_fake::<Telegram>, further).await, &KNOWN);
}
