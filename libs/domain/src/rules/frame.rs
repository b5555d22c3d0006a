//! How a platform shows an image whose aspect ratio is changed.

use super::{FileRule, Rules};
use crate::media::{Attachment, FileType, Pixels};
use crate::options::Options;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub bordered: Pixels,
    pub visible: Pixels,
}

impl Frame {
    pub fn is_cropped(&self) -> bool {
        let (image, visible) = (self.bordered, self.visible);
        u64::from(image.width) * u64::from(visible.height) != u64::from(visible.width) * u64::from(image.height)
    }
}

impl Rules {
    /// How the image at this position is shown; `None` if it is shown as it is, or if its size is
    /// unknown.
    pub fn image_frame(&self, media: &[Attachment], index: usize, options: &Options) -> Option<Frame> {
        let file = media.get(index).filter(|it| it.mime_type.file_type() == FileType::Image)?;
        let own = file.facts?.pixels?;
        let bordered = self.bordered_size(file, options).unwrap_or(own);
        let is_cropped = self.file_rules(options).any(|it| *it == FileRule::CroppedToFirst);
        let first =
            media.first().filter(|_| is_cropped).and_then(|it| self.bordered_size(it, options).or(it.facts?.pixels));
        let frame = Frame { bordered, visible: first.unwrap_or(bordered) };
        (frame.is_cropped() || bordered != own).then_some(frame)
    }

    fn bordered_size(&self, file: &Attachment, options: &Options) -> Option<Pixels> {
        self.file_rules(options).find_map(|it| it.bordered_size(file, options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::{Facts, MimeType, Ratio};
    use crate::options::OptionValue;
    use crate::rules::Rule;
    use crate::testing::an_attachment;

    const PORTRAIT: Pixels = Pixels { width: 1080, height: 1920 };
    const BORDERED: Pixels = Pixels { width: 1536, height: 1920 };
    const SQUARE: Pixels = Pixels { width: 800, height: 800 };

    fn file(mime_type: MimeType, pixels: Pixels) -> Attachment {
        let facts = Some(Facts { pixels: Some(pixels), ..Facts::default() });
        Attachment { mime_type, facts, ..an_attachment(1) }
    }

    fn rules() -> Rules {
        let borders = FileRule::ImageRatioOrBorders {
            min: Ratio::hundredths(80),
            max: Ratio::hundredths(191),
            option: "fit".to_owned(),
            is: "borders".to_owned(),
        };
        Rules::new("Small", [Rule::OfFiles(borders), Rule::OfFiles(FileRule::CroppedToFirst)])
    }

    #[test]
    fn images_are_cropped_to_the_first_file_with_its_borders() {
        let borders: Options = [("fit".to_owned(), OptionValue::Text("borders".to_owned()))].into_iter().collect();
        let media = [file(MimeType::Jpeg, PORTRAIT), file(MimeType::Jpeg, SQUARE), file(MimeType::Mp4, SQUARE)];
        let frame = |index, options| rules().image_frame(&media, index, options);

        let first = frame(0, &borders).unwrap();
        assert_eq!((first, first.is_cropped()), (Frame { bordered: BORDERED, visible: BORDERED }, false));
        let second = frame(1, &borders).unwrap();
        assert_eq!((second, second.is_cropped()), (Frame { bordered: SQUARE, visible: BORDERED }, true));
        assert_eq!(frame(2, &borders), None, "a video");

        assert_eq!(frame(0, Options::NONE), None, "no borders without the option");
        assert_eq!(frame(1, Options::NONE), Some(Frame { bordered: SQUARE, visible: PORTRAIT }));
    }

    #[test]
    fn images_of_one_ratio_are_shown_as_they_are() {
        let small = Pixels { width: 40, height: 40 };
        let media = [file(MimeType::Jpeg, SQUARE), file(MimeType::Png, small)];
        assert_eq!([0, 1].map(|it| rules().image_frame(&media, it, Options::NONE)), [None, None]);
        let unknown = [file(MimeType::Jpeg, SQUARE), Attachment { facts: None, ..an_attachment(2) }];
        assert_eq!(rules().image_frame(&unknown, 1, Options::NONE), None);
    }
}
