//! What an account permits for direct posts, and the settings of one.

use domain::media::Attachment;
use domain::options::Options;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    AI_GENERATED, AUTO_ADD_MUSIC, BRAND_CONTENT, BRAND_ORGANIC, COMMENTS, COVER, DUET, SELF_ONLY, STITCH, VISIBILITY,
};
use crate::choices::Choice;
use crate::creator_info::CreatorInfo;
use crate::kit::CallError;

#[derive(Deserialize)]
pub(super) struct Creator {
    #[serde(rename = "creator_nickname")]
    nickname: Option<String>,
    #[serde(rename = "creator_avatar_url")]
    avatar: Option<String>,
    privacy_level_options: Vec<String>,
    comment_disabled: bool,
    duet_disabled: bool,
    stitch_disabled: bool,
    max_video_post_duration_sec: Option<u64>,
}

impl Creator {
    /// An app without the audit gets the same settings from TikTok, but can use only one visibility.
    pub(super) fn unaudited(mut self) -> Self {
        self.privacy_level_options.retain(|it| it == SELF_ONLY);
        self
    }

    pub(super) fn info(self) -> CreatorInfo {
        let switches = [(COMMENTS, self.comment_disabled), (DUET, self.duet_disabled), (STITCH, self.stitch_disabled)];
        CreatorInfo {
            name: self.nickname.clone(),
            avatar: self.avatar.clone(),
            turned_off: switches.into_iter().filter(|it| it.1).map(|it| it.0).collect(),
            max_video_duration: self.max_video_post_duration_sec,
            visibilities: self.choices(),
        }
    }

    pub(super) fn choices(self) -> Vec<Choice> {
        let choice = |value: String| {
            let label = match value.as_str() {
                "PUBLIC_TO_EVERYONE" => "Everyone",
                "MUTUAL_FOLLOW_FRIENDS" => "Friends",
                "FOLLOWER_OF_CREATOR" => "Followers",
                SELF_ONLY => "Only you",
                other => other,
            };
            Choice { label: label.to_owned(), value }
        };
        self.privacy_level_options.into_iter().map(choice).collect()
    }

    /// The `post_info` of a direct post without its texts; `video` is `None` for photos. What people may do with the
    /// post is off unless its options permit it, as TikTok's audit demands.
    pub(super) fn post_info(&self, options: &Options, video: Option<&Attachment>) -> Result<Value, CallError> {
        let levels = &self.privacy_level_options;
        let level = options.text(VISIBILITY).filter(|it| levels.iter().any(|level| level == it)).ok_or_else(|| {
            CallError::invalid_post(format!("option {VISIBILITY}: choose one of {}", levels.join(", ")))
        })?;
        let is_on = |name| options.flag(name).unwrap_or(false);
        let mut info = json!({
            "privacy_level": level,
            "disable_comment": self.comment_disabled || !is_on(COMMENTS),
            "brand_content_toggle": is_on(BRAND_CONTENT),
            "brand_organic_toggle": is_on(BRAND_ORGANIC),
        });
        let Some(video) = video else {
            info["auto_add_music"] = is_on(AUTO_ADD_MUSIC).into();
            return Ok(info);
        };
        if let Some((max, duration_ms)) =
            self.max_video_post_duration_sec.zip(video.facts.and_then(|it| it.duration_ms))
            && max.saturating_mul(1_000) < duration_ms
        {
            let seconds = duration_ms.div_ceil(1_000);
            let message = format!("this account can post videos of at most {max} s; this one lasts {seconds} s");
            return Err(CallError::invalid_post(message));
        }
        info["disable_duet"] = (self.duet_disabled || !is_on(DUET)).into();
        info["disable_stitch"] = (self.stitch_disabled || !is_on(STITCH)).into();
        info["is_aigc"] = is_on(AI_GENERATED).into();
        if let Some(cover) = options.number(COVER) {
            info["video_cover_timestamp_ms"] = cover.into();
        }
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use domain::media::{Facts, MimeType};
    use domain::options::OptionValue;
    use domain::testing::an_attachment;

    use super::*;

    #[test]
    fn post_has_only_what_the_account_permits() {
        let creator = json!({
            "privacy_level_options": ["FOLLOWER_OF_CREATOR", SELF_ONLY],
            "comment_disabled": false,
            "duet_disabled": true,
            "stitch_disabled": false,
            "max_video_post_duration_sec": 60,
        });
        let creator: Creator = serde_json::from_value(creator).unwrap();
        let info = |options: &[(&str, OptionValue)], duration_ms| {
            let facts = Some(Facts { duration_ms: Some(duration_ms), ..Facts::default() });
            let video = Attachment { mime_type: MimeType::Mp4, facts, ..an_attachment(1) };
            let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            creator.post_info(&options, Some(&video)).map_err(|it| it.message)
        };
        let followers = (VISIBILITY, "FOLLOWER_OF_CREATOR".into());
        let expected = json!({
            "privacy_level": "FOLLOWER_OF_CREATOR",
            "disable_comment": true,
            "disable_duet": true,
            "disable_stitch": false,
            "brand_content_toggle": true,
            "brand_organic_toggle": false,
            "is_aigc": false,
        });
        let on = [followers.clone(), (DUET, true.into()), (STITCH, true.into()), (BRAND_CONTENT, true.into())];
        assert_eq!(info(&on, 60_000), Ok(expected));
        for (options, message) in [
            (vec![], "option visibility: choose one of FOLLOWER_OF_CREATOR, SELF_ONLY"),
            (vec![followers], "at most 60 s; this one lasts 61 s"),
        ] {
            let refused = info(&options, 60_001).unwrap_err();
            assert!(refused.contains(message), "{refused}");
        }
        let info = creator.unaudited().info();
        assert_eq!(info.visibilities, [Choice { value: SELF_ONLY.into(), label: "Only you".into() }]);
        assert_eq!((info.turned_off, info.max_video_duration), (vec![DUET], Some(60)));
    }
}
