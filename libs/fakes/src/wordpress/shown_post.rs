//! A post as readers of a site see it.

use domain::media::MimeType;

use super::html::{Block, read};
use crate::conformance::fake_platform::PublicMedium;
use crate::fake::article::{plain, whole_text};

pub struct ShownPost {
    pub text: String,
    pub media: Vec<PublicMedium>,
}

pub struct LibraryFile {
    pub source_url: String,
    pub mime_type: MimeType,
    pub bytes: Vec<u8>,
    pub alt_text: String,
}

/// A title that is repeated at the beginning of the text appears once. `file` reads the file with
/// an id.
pub fn shown_post(title: &str, content: &str, featured: Option<u64>, file: impl Fn(u64) -> LibraryFile) -> ShownPost {
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    if let Some(id) = featured {
        let file = file(id);
        let alt_text = file.alt_text.clone();
        media.push(medium(file, alt_text));
    }
    let in_block = |id: u64, src: &str, alt: String| {
        let file = file(id);
        assert_eq!(src, file.source_url, "the block of {id} shows another file");
        medium(file, alt)
    };
    for block in read(content).expect("the service writes these blocks only") {
        match block {
            Block::Paragraph { text, .. } => texts.push(text),
            Block::Image { id, src, alt } => media.push(in_block(id, &src, alt)),
            Block::Video { id, src } => media.push(in_block(id, &src, String::new())),
        }
    }
    let text = whole_text(&plain(title), &texts);
    ShownPost { text, media }
}

fn medium(file: LibraryFile, alt_text: String) -> PublicMedium {
    let alt_text = Some(alt_text).filter(|it| !it.is_empty());
    PublicMedium { mime_type: file.mime_type, bytes: file.bytes, alt_text }
}

/// The linked texts of a post.
pub fn shown_links(content: &str) -> Vec<String> {
    let blocks = read(content).expect("the service writes these blocks only");
    let links = blocks.into_iter().filter_map(|it| match it {
        Block::Paragraph { links, .. } => Some(links),
        Block::Image { .. } | Block::Video { .. } => None,
    });
    links.flatten().collect()
}
