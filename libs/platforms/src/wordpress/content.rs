//! The blocks of a post, as WordPress's own editor writes them.

use domain::media::{Attachment, FileType};

use crate::article_html::{escaped, paragraphs};

pub(super) struct EmbeddedFile<'a> {
    pub(super) id: u64,
    pub(super) url: &'a str,
    pub(super) file: &'a Attachment,
}

pub(super) fn blocks<'a>(text: &str, files: impl Iterator<Item = EmbeddedFile<'a>>) -> String {
    let paragraphs = paragraphs(text).into_iter();
    let paragraphs = paragraphs.map(|it| format!("<!-- wp:paragraph -->\n<p>{it}</p>\n<!-- /wp:paragraph -->"));
    let blocks: Vec<_> = paragraphs.chain(files.map(|it| it.block())).collect();
    blocks.join("\n\n")
}

impl EmbeddedFile<'_> {
    fn block(&self) -> String {
        let (id, url) = (self.id, escaped(self.url));
        if self.file.mime_type.file_type() == FileType::Video {
            return format!(
                "<!-- wp:video {{\"id\":{id}}} -->\n\
                 <figure class=\"wp-block-video\"><video controls src=\"{url}\"></video></figure>\n\
                 <!-- /wp:video -->"
            );
        }
        let alt = self.file.alt_text.as_ref().map_or_else(String::new, |it| escaped(it.as_str()));
        format!(
            "<!-- wp:image {{\"id\":{id},\"sizeSlug\":\"full\",\"linkDestination\":\"none\"}} -->\n\
             <figure class=\"wp-block-image size-full\"><img src=\"{url}\" alt=\"{alt}\" class=\"wp-image-{id}\"/></figure>\n\
             <!-- /wp:image -->"
        )
    }
}

#[cfg(test)]
mod tests {
    use domain::media::AltText;
    use domain::testing::an_attachment;

    use super::*;

    #[test]
    fn paragraphs_are_blocks() {
        assert_eq!(
            blocks("one\n\n<b>", std::iter::empty()),
            "<!-- wp:paragraph -->\n<p>one</p>\n<!-- /wp:paragraph -->\n\n\
             <!-- wp:paragraph -->\n<p>&lt;b&gt;</p>\n<!-- /wp:paragraph -->"
        );
    }

    #[test]
    fn picture_has_its_alternative_text() {
        let file = Attachment { alt_text: Some(AltText::parse("\"Zoë\" &\r\ncrew").unwrap()), ..an_attachment(1) };
        let written =
            blocks("", std::iter::once(EmbeddedFile { id: 7, url: "https://example.com/a.png", file: &file }));
        assert_eq!(
            written,
            "<!-- wp:image {\"id\":7,\"sizeSlug\":\"full\",\"linkDestination\":\"none\"} -->\n\
             <figure class=\"wp-block-image size-full\"><img src=\"https://example.com/a.png\" \
             alt=\"&quot;Zoë&quot; &amp;&#13;&#10;crew\" class=\"wp-image-7\"/></figure>\n<!-- /wp:image -->"
        );
    }
}
