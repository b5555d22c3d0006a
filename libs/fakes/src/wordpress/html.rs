//! Parses the content of posts: only blocks of the editor.

use crate::fake::article::{paragraph, plain};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    Paragraph { text: String, links: Vec<String> },
    Image { id: u64, src: String, alt: String },
    Video { id: u64, src: String },
}

pub(super) fn read(content: &str) -> Result<Vec<Block>, String> {
    let blocks = content.split("<!-- wp:").skip(1).map(parse_block);
    let is_in_blocks = content.is_empty() || content.starts_with("<!-- wp:");
    if is_in_blocks { blocks.collect() } else { Err(format!("no block: {content:?}")) }
}

fn parse_block(source: &str) -> Result<Block, String> {
    let wrong = || format!("no such block: {source:?}");
    let (head, rest) = source.split_once(" -->\n").ok_or_else(wrong)?;
    let (name, attributes) = head.split_once(' ').unwrap_or((head, "{}"));
    let inner = rest.trim_end().strip_suffix(&format!("\n<!-- /wp:{name} -->")).ok_or_else(wrong)?;
    let attributes: serde_json::Value = serde_json::from_str(attributes).map_err(|_| wrong())?;
    let id = attributes["id"].as_u64();
    match name {
        "paragraph" => {
            let html = inner.strip_prefix("<p>").and_then(|it| it.strip_suffix("</p>")).ok_or_else(wrong)?;
            // WordPress would run a shortcode.
            let is_harmless = !html.contains(['[', '\n']);
            let (text, links) = paragraph(html).filter(|_| is_harmless).ok_or_else(wrong)?;
            Ok(Block::Paragraph { text, links })
        }
        "image" => {
            let id = id.ok_or_else(wrong)?;
            let src = inner.strip_prefix("<figure class=\"wp-block-image size-full\"><img src=\"").ok_or_else(wrong)?;
            let (src, rest) = src.split_once("\" alt=\"").ok_or_else(wrong)?;
            // WordPress adds a space if the author may not write HTML.
            let ends = [" />", "/>"].map(|end| format!("\" class=\"wp-image-{id}\"{end}</figure>"));
            let alt = ends.iter().find_map(|it| rest.strip_suffix(it.as_str())).ok_or_else(wrong)?;
            let is_attribute = |it: &str| !it.contains(['"', '<', '>', '\n']);
            if !is_attribute(src) || !is_attribute(alt) {
                return Err(wrong());
            }
            Ok(Block::Image { id, src: plain(src), alt: plain(alt) })
        }
        "video" => {
            let src =
                inner.strip_prefix("<figure class=\"wp-block-video\"><video controls src=\"").ok_or_else(wrong)?;
            let src = src.strip_suffix("\"></video></figure>").ok_or_else(wrong)?;
            Ok(Block::Video { id: id.ok_or_else(wrong)?, src: plain(src) })
        }
        _ => Err(wrong()),
    }
}
