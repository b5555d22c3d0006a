//! Relative links of Markdown files.

use std::{collections::BTreeMap, fs, path::Path};

use steps::{ROOT, error::Result};

use super::{has_extension, prose};

/// Links whose file or heading does not exist, as `file:line: target`.
pub fn broken(files: &[String]) -> Result<Vec<String>> {
    let mut texts = BTreeMap::new();
    for path in files.iter().filter(|it| has_extension(it, &["md"])) {
        texts.insert(path.as_str(), fs::read_to_string(Path::new(ROOT).join(path))?);
    }
    let mut broken = Vec::new();
    for (path, text) in &texts {
        for (line, prose) in prose(text) {
            // Code spans contain no links.
            let prose: String = prose.split('`').step_by(2).collect();
            for target in link_targets(&prose) {
                if !exists(path, target, &texts) {
                    broken.push(format!("{path}:{line}: {target}"));
                }
            }
        }
    }
    Ok(broken)
}

/// Relative targets of links and pictures.
fn link_targets(line: &str) -> Vec<&str> {
    let between = |start, end| line.split(start).skip(1).filter_map(move |it| it.split_once(end)).map(|(it, _)| it);
    let found = between("](", ')').chain(between("src=\"", '"'));
    found.filter(|it| !it.contains("://") && !it.starts_with("mailto:")).collect()
}

fn exists(from: &str, target: &str, texts: &BTreeMap<&str, String>) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { from.to_owned() } else { resolve_path(from, file) };
    if anchor.is_empty() {
        return Path::new(ROOT).join(&path).exists();
    }
    texts.get(path.as_str()).is_some_and(|it| anchors(it).iter().any(|it| it == anchor))
}

fn resolve_path(from: &str, target: &str) -> String {
    let mut parts: Vec<_> = from.split('/').collect();
    parts.pop();
    for part in target.split('/').filter(|it| !it.is_empty() && *it != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// As GitHub makes them from headings.
fn anchors(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut counts = BTreeMap::<String, u32>::new();
    for (_, line) in prose(text).filter(|(_, it)| it.starts_with('#')) {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        let anchor: String = kept.map(|it| if it == ' ' { '-' } else { it }).collect();
        let count = counts.entry(anchor.clone()).or_default();
        all.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_anchors() {
        let text = "# The `due` index\n```sh\n# a comment\n```\n## A platform's id, and secret\n## The `due` index\n";
        assert_eq!(anchors(text), ["the-due-index", "a-platforms-id-and-secret", "the-due-index-1"]);
    }

    #[test]
    fn targets_are_relative_to_their_file() {
        assert_eq!(resolve_path("docs/platforms/x.md", "../../README.md"), "README.md");
        assert_eq!(resolve_path("README.md", "docs/api.md"), "docs/api.md");
        assert_eq!(link_targets("[a](b.md#c) [d](https://e.example) <img src=\"g.png\">"), ["b.md#c", "g.png"]);
    }
}
