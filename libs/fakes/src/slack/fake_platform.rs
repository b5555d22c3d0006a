//! `FakePlatform` for the conformance suite.

use domain::options::{OptionValue, Options};

use super::{CHANNEL, Memory, Message, Rotation, Slack, chat};
use crate::conformance::fake_platform::{Call, FakePlatform, InjectedFault, PublicPost};
use crate::fake::fake_platform::{describes_images_only, medium, oauth_fake_platform};

impl<R: Rotation> FakePlatform for Slack<R> {
    oauth_fake_platform!("slack");
    describes_images_only!();

    fn options(&self) -> Options {
        [("channel".to_owned(), OptionValue::Text(CHANNEL.to_owned()))].into_iter().collect()
    }

    fn can_fail(&self, call: Call, _: InjectedFault) -> bool {
        call != Call::Refresh || R::ON
    }

    fn publish_manual_post(&self, text: &str) {
        let now = self.fake.clock.now();
        self.fake.memory().say(CHANNEL, text, None, Vec::new(), now);
    }

    fn replies_to_root(&self) -> bool {
        true
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        let now = self.fake.clock.now();
        let is_ours = |it: &&Message| it.at <= now && (it.metadata.is_some() || !it.files.is_empty());
        memory.messages.iter().filter(is_ours).map(|it| public_post(&memory, it)).collect()
    }
}

fn public_post(memory: &Memory, message: &Message) -> PublicPost {
    let files = message.files.iter().filter_map(|it| memory.files.get(it));
    let media = files.map(|it| medium(it.bytes.clone().unwrap_or_default().to_vec(), it.description.clone()));
    let root = memory.messages.iter().find(|it| Some(&it.ts) == message.thread.as_ref());
    PublicPost { id: id(message), text: chat::shown(&message.text), media: media.collect(), reply_to: root.map(id) }
}

fn id(message: &Message) -> String {
    message.files.first().cloned().unwrap_or_else(|| format!("{}:{}", message.channel, message.ts))
}
