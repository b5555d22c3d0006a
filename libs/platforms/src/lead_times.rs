use chrono::TimeDelta;
use domain::media::{Attachment, FileType, MimeType};

/// Lead times by the media of a post; `None` where nothing is prepared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeadTimes {
    /// For every post, even without media.
    pub always: Option<TimeDelta>,
    pub images: Option<TimeDelta>,
    pub videos: Option<TimeDelta>,
    /// For a post with a GIF, if the platform shows it as a video; otherwise it counts as an image.
    pub gifs: Option<TimeDelta>,
    pub documents: Option<TimeDelta>,
}

impl LeadTimes {
    pub const NONE: Self = Self { always: None, images: None, videos: None, gifs: None, documents: None };

    /// The longest lead time of these files; `None` if the post needs no preparation.
    pub fn before(self, media: &[Attachment]) -> Option<TimeDelta> {
        let lead_time = |attachment: &Attachment| match attachment.mime_type.file_type() {
            FileType::Image if attachment.mime_type == MimeType::Gif => self.gifs.or(self.images),
            FileType::Image => self.images,
            FileType::Video => self.videos,
            FileType::Document => self.documents,
        };
        media.iter().map(lead_time).chain([self.always]).max().flatten()
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::an_attachment;

    use super::*;

    #[test]
    fn longest_lead_time_of_the_media_counts() {
        let (short, long) = (TimeDelta::seconds(60), TimeDelta::minutes(10));
        let lead_times = LeadTimes { images: Some(short), videos: Some(long), ..LeadTimes::NONE };
        let image = an_attachment(1);
        let video = Attachment { mime_type: MimeType::Mp4, ..an_attachment(2) };

        assert_eq!(lead_times.before(&[]), None);
        assert_eq!(lead_times.before(std::slice::from_ref(&image)), Some(short));
        let gif = [Attachment { mime_type: MimeType::Gif, ..an_attachment(3) }];
        assert_eq!(lead_times.before(&gif), Some(short));
        assert_eq!(LeadTimes { gifs: Some(long), ..lead_times }.before(&gif), Some(long));
        assert_eq!(lead_times.before(&[image, video]), Some(long));
        let document = [Attachment { mime_type: MimeType::Pdf, ..an_attachment(4) }];
        assert_eq!(lead_times.before(&document), None);
        assert_eq!(LeadTimes { documents: Some(short), ..lead_times }.before(&document), Some(short));
        assert_eq!(LeadTimes { always: Some(short), ..LeadTimes::NONE }.before(&[]), Some(short));
    }
}
