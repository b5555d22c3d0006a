//! A post as readers of a site see it.

use crate::conformance::fake_platform::PublicMedium;
use crate::fake::article::{paragraph, plain, whole_text};
use crate::fake::fake_platform::medium;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Paragraph { text: String, links: Vec<String> },
    File { src: String, alt: String },
}

pub struct ShownPost {
    pub text: String,
    pub media: Vec<PublicMedium>,
    /// The linked texts.
    pub links: Vec<String>,
}

/// `featured` is the feature image with its alternative text; `bytes` reads the file at a URL.
pub fn shown_post(
    title: &str,
    html: &str,
    featured: Option<(&str, &str)>,
    bytes: impl Fn(&str) -> Vec<u8>,
) -> ShownPost {
    let described = |alt: String| Some(alt).filter(|it| !it.is_empty());
    let mut media: Vec<_> =
        featured.into_iter().map(|(src, alt)| medium(bytes(src), described(alt.to_owned()))).collect();
    let (mut texts, mut all_links) = (Vec::new(), Vec::new());
    for part in parse(html).expect("the service writes paragraphs and cards only") {
        match part {
            Part::Paragraph { text, links } => {
                texts.push(text);
                all_links.extend(links);
            }
            Part::File { src, alt } => media.push(medium(bytes(&src), described(alt))),
        }
    }
    ShownPost { text: whole_text(title, &texts), media, links: all_links }
}

/// The parts of a post; `None` for any other HTML.
pub(super) fn parse(html: &str) -> Option<Vec<Part>> {
    let (mut parts, mut rest) = (Vec::new(), html.trim_start());
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix("<p>") {
            let (inner, after) = inner.split_once("</p>")?;
            let (text, links) = paragraph(inner)?;
            parts.push(Part::Paragraph { text, links });
            rest = after.trim_start();
        } else {
            let (card, after) = rest.split_once("</figure>")?;
            let card = card.trim_start().trim_start_matches("<!--kg-card-begin: html-->").trim_start();
            let file = card.strip_prefix("<figure class=\"kg-card kg-")?;
            let attribute = |name: &str| {
                let value = file.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0;
                Some(plain(value))
            };
            // A video has a label instead, whose line breaks Ghost changes.
            let alt = attribute("alt").unwrap_or_default();
            parts.push(Part::File { src: attribute("src")?, alt });
            rest = after.trim_start().trim_start_matches("<!--kg-card-end: html-->").trim_start();
        }
    }
    Some(parts)
}
