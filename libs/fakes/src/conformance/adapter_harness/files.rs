//! Which files the posts of an account have in the suite.

use domain::media::MimeType;
use domain::rules::{PostRule, Rule};
use platforms::Account;

use super::AdapterHarness;
use crate::conformance::fake_platform::{Call, FakePlatform};
use crate::conformance::samples::{Sample, sample};

impl<N: FakePlatform + ?Sized> AdapterHarness<N> {
    /// The type of a file that a post can have alone: an image, unless every post needs a video, or the fake is about
    /// posts with videos.
    pub fn main_type(&self, account: &Account) -> MimeType {
        if needs_video(account) || self.fake.is_for_videos() { MimeType::Mp4 } else { MimeType::Png }
    }

    /// The files that a post must have in addition to its text.
    pub fn required_files(&self, account: &Account, number: u8) -> Vec<Sample> {
        if needs_media(account) { vec![sample(self.main_type(account), number)] } else { Vec::new() }
    }

    /// A file of the main type for a post with a picture, else what a post must have.
    pub fn picture_or_required_files(&self, account: &Account, has_picture: bool, number: u8) -> Vec<Sample> {
        if has_picture { vec![sample(self.main_type(account), number)] } else { self.required_files(account, number) }
    }

    /// The calls for files, each with a type of file that may need it.
    pub fn file_calls(&self, account: &Account) -> Vec<(Call, MimeType)> {
        let image = (self.main_type(account) == MimeType::Png).then_some((Call::Upload, MimeType::Png));
        let calls = image.into_iter().chain([(Call::Process, MimeType::Mp4), (Call::Upload, MimeType::Mp4)]);
        let types = supported_mime_types(account);
        calls.filter(|it| types.contains(&it.1)).collect()
    }
}

pub fn supported_mime_types(account: &Account) -> Vec<MimeType> {
    let types = account.rules.rules.iter().find_map(|it| match it {
        Rule::MimeTypes { types } => Some(types.clone()),
        _ => None,
    });
    types.unwrap_or_default()
}

pub fn needs_media(account: &Account) -> bool {
    account.rules.rules.contains(&Rule::MediaRequired) || needs_video(account)
}

fn needs_video(account: &Account) -> bool {
    account.rules.rules.contains(&Rule::OfPost(PostRule::MinVideos { min: 1 }))
}
