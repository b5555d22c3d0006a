//! Names in code font: paths of files, and in documents about the code also types, functions and constants.

use std::{collections::BTreeSet, fs, path::Path};

use steps::{ROOT, error::Result};

use super::{has_extension, prose};

/// Its names are those of earlier versions.
const HISTORY: &str = "CHANGELOG.md";

/// Documents whose names are those of the code.
const ABOUT_CODE: [&str; 3] = ["CONTRIBUTING.md", "docs/architecture.md", "docs/publishing.md"];

const SOURCES: [&str; 8] = ["rs", "toml", "yaml", "ts", "mjs", "js", "json", "sh"];

/// Names that do not exist, as `file:line: name`.
pub fn missing(files: &[String]) -> Result<Vec<String>> {
    let mut words = BTreeSet::new();
    for path in files.iter().filter(|it| has_extension(it, &SOURCES)) {
        let text = fs::read_to_string(Path::new(ROOT).join(path))?;
        words.extend(text.split(|it: char| !is_identifier_char(it)).map(str::to_owned));
    }

    let mut missing = Vec::new();
    for path in files.iter().filter(|it| has_extension(it, &["md"]) && *it != HISTORY) {
        let text = fs::read_to_string(Path::new(ROOT).join(path))?;
        for (line, prose) in prose(&text) {
            for name in prose.split('`').skip(1).step_by(2) {
                let first = name.split_whitespace().next().unwrap_or_default();
                let is_known = if is_path(first, files) {
                    is_there(first, files)
                } else {
                    !ABOUT_CODE.contains(&path.as_str()) || identifiers(name).all(|it| words.contains(it))
                };
                if !is_known {
                    missing.push(format!("{path}:{line}: {name}"));
                }
            }
        }
    }
    Ok(missing)
}

fn is_identifier_char(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}

/// Starts in a folder at the top of the project, or ends as a source file.
fn is_path(name: &str, files: &[String]) -> bool {
    if name.contains(['{', '…', ':']) || name.starts_with('/') || name.contains("//") {
        return false;
    }
    let is_source = name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && ["rs", "mjs", "yaml", "md"].contains(&end) && !stem.contains(['(', '"'])
    });
    let folder = name.split_once('/').map(|(it, _)| format!("{it}/"));
    is_source || folder.is_some_and(|folder| files.iter().any(|it| it.starts_with(&folder)))
}

/// From the root, or at the end of a path; `*`, `<…>` and a last part such as `PLATFORM` stand for
/// any text.
fn is_there(name: &str, files: &[String]) -> bool {
    let name = name.trim_end_matches(['/', ',', '.']);
    let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
    let is_placeholder = !folder.is_empty() && last.bytes().all(|it| it.is_ascii_uppercase());
    let start = if is_placeholder { folder } else { name.split(['*', '<']).next().unwrap_or_default() };
    if start.len() < name.len() {
        return files.iter().any(|it| it.starts_with(start));
    }
    let is_at_end = |it: &String| it.strip_suffix(name).is_some_and(|it| it.is_empty() || it.ends_with('/'));
    let is_folder = |it: &String| it.strip_prefix(name).is_some_and(|it| it.starts_with('/'));
    files.iter().any(|it| is_at_end(it) || is_folder(it)) || Path::new(ROOT).join(name).exists()
}

/// The parts that look like Rust: `CamelCase`, `snake_case`, `CONSTANT`.
fn identifiers(name: &str) -> impl Iterator<Item = &str> {
    let is_plain = !name.contains(['/', '<', '{', '"', '…', '$']);
    let parts = name.split(|it: char| !is_identifier_char(it)).filter(move |_| is_plain);
    parts.filter(|it| {
        let is_camel = it.starts_with(|it: char| it.is_ascii_uppercase()) && it.contains(char::is_lowercase);
        let is_snake = it.contains('_') && it.contains(char::is_alphabetic);
        is_camel || is_snake
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_from_the_root_and_at_the_end() {
        let files = ["libs/domain/src/post.rs".to_owned(), "tests/all".to_owned()];
        for (name, is_known) in [
            ("libs/domain/src/post.rs", true),
            ("post.rs", true),
            ("libs/*/src", true),
            ("tests/all", true),
            ("libs/domain/NAME", true),
            ("libs/domain/src/letter.rs", false),
            ("ost.rs", false),
        ] {
            assert!(is_path(name, &files), "{name}");
            assert_eq!(is_there(name, &files), is_known, "{name}");
        }
        assert!(!is_path("image/png", &files) && !is_path("/account/posts", &files));
    }

    #[test]
    fn identifiers_are_those_of_rust() {
        let found: Vec<_> = identifiers("Publish::look_up of PLAN_AHEAD at 12").collect();
        assert_eq!(found, ["Publish", "look_up", "PLAN_AHEAD"]);
    }
}
