//! Modules must not depend on each other in cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tests::template::ROOT;

/// In its crate; the crate's root is empty.
type Module = Vec<String>;

/// Modules of one folder, each with everything below it, never name each other in a cycle. So there
/// is an order in which they can be read.
///
/// A module and the files in its own folder count as one and may name each other.
#[test]
fn modules_have_no_cycles() {
    let mut circles = Vec::new();
    for root in crate_roots() {
        let sources = Sources::read(&root);
        circles.extend(sources.circles().into_iter().map(|it| format!("{}: {it}", root.display())));
    }
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

#[test]
fn cycle_is_found_through_folders_and_reexports() {
    let sources = |files: &[(&str, &str)]| {
        Sources::from_files(files.iter().map(|(path, text)| (module_path(Path::new(path)), (*text).to_owned())))
    };
    let found = |files| sources(files).circles().len();

    assert_eq!(found(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "")]), 0);
    assert_eq!(found(&[("lib.rs", ""), ("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::a::f() }")]), 1);
    let passed_on =
        [("lib.rs", "pub use self::{a::A, b::{B, C as D}};"), ("a.rs", "use crate::D;"), ("b.rs", "use super::A;")];
    assert_eq!(found(&passed_on), 1);
    assert_eq!(
        found(&[("a.rs", ""), ("a/x.rs", "use crate::{b::B, c};"), ("b.rs", "use crate::a::A;"), ("c.rs", "")]),
        1
    );
    assert_eq!(found(&[("a.rs", "use self::x::X;"), ("a/x.rs", "use super::A;")]), 0, "a module and its folder");
    assert_eq!(found(&[("a.rs", "// crate::b::f"), ("b.rs", "use crate::a::A;")]), 0, "a comment names nothing");
    let tested = "use crate::a::A;\n#[cfg(test)]\nmod tests { use crate::c::C; }";
    assert_eq!(found(&[("a.rs", ""), ("b.rs", tested), ("c.rs", "use crate::b::B;")]), 0, "nor does a test below");
}

/// Each library, and each program with several files.
fn crate_roots() -> Vec<PathBuf> {
    let folders = |below: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(Path::new(ROOT).join(below)).into_iter().flatten();
        entries.map(|it| it.unwrap().path()).filter(|it| it.is_dir()).collect()
    };
    let mut packages = [folders("functions"), folders("libs"), folders("infra"), folders("tests")].concat();
    packages.push(Path::new(ROOT).join("tests"));
    let mut roots: Vec<_> = packages.iter().map(|it| it.join("src")).filter(|it| it.exists()).collect();
    let programs: Vec<_> = roots.iter().flat_map(|it| fs::read_dir(it.join("bin")).into_iter().flatten()).collect();
    roots.extend(programs.into_iter().map(|it| it.unwrap().path()).filter(|it| it.is_dir()));
    assert!(20 < roots.len(), "{roots:?}");
    roots
}

/// From the root of its crate.
fn module_path(file: &Path) -> Module {
    let mut module: Module = file.with_extension("").iter().map(|it| it.to_str().unwrap().to_owned()).collect();
    if module.last().is_some_and(|it| ["lib", "main"].contains(&it.as_str())) {
        module.pop();
    }
    module
}

struct Sources {
    modules: BTreeSet<Module>,
    /// From the root of the crate.
    named: BTreeMap<Module, BTreeSet<Module>>,
    /// By their local names.
    taken: BTreeMap<Module, BTreeMap<String, Module>>,
}

impl Sources {
    fn read(root: &Path) -> Self {
        let mut files = Vec::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                // Programs are crates of their own.
                if path.is_dir() && path != root.join("bin") {
                    folders.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") {
                    let module = module_path(path.strip_prefix(root).unwrap());
                    files.push((module, fs::read_to_string(path).unwrap()));
                }
            }
        }
        Self::from_files(files)
    }

    fn from_files(files: impl IntoIterator<Item = (Module, String)>) -> Self {
        let mut sources = Self { modules: BTreeSet::new(), named: BTreeMap::new(), taken: BTreeMap::new() };
        let is_test = |module: &Module| module.iter().any(|it| it == "tests" || it.ends_with("_tests"));
        for (module, text) in files.into_iter().filter(|(module, _)| !is_test(module)) {
            let text = without_comments_and_tests(&text);
            let named = sources.named.entry(module.clone()).or_default();
            let taken = sources.taken.entry(module.clone()).or_default();
            for (path, name) in list_imports(&text) {
                if let Some(path) = from_root(&path, &module) {
                    taken.insert(name, path.clone());
                    named.insert(path);
                }
            }
            named.extend(inline_paths(&text).iter().filter_map(|it| from_root(it, &module)));
            sources.modules.insert(module);
        }
        sources
    }

    /// The module that defines the target of this path.
    fn home(&self, path: &[String], steps: usize) -> Module {
        let known = (0..=path.len()).rev().find(|it| self.modules.contains(&path[..*it]));
        let (module, rest) = path.split_at(known.unwrap_or_default());
        let passed_on = rest.first().and_then(|name| self.taken.get(module)?.get(name));
        match passed_on {
            Some(further) if 0 < steps && further != path => {
                self.home(&[further.as_slice(), &rest[1..]].concat(), steps - 1)
            }
            _ => module.to_owned(),
        }
    }

    fn circles(&self) -> Vec<String> {
        // Edges between modules of one folder, each with its description for the report.
        let mut edges: BTreeMap<Module, BTreeMap<Module, String>> = BTreeMap::new();
        for (module, paths) in &self.named {
            for home in paths.iter().map(|it| self.home(it, 8)) {
                let shared = module.iter().zip(&home).take_while(|(a, b)| a == b).count();
                if shared < module.len() && shared < home.len() {
                    let (from, to) = (module[..=shared].to_vec(), home[..=shared].to_vec());
                    let description = format!("{} names {}", module.join("::"), home.join("::"));
                    edges.entry(from).or_default().entry(to).or_insert(description);
                }
            }
        }
        let reachable = |from: &Module| {
            let mut seen = BTreeSet::new();
            let mut next = vec![from];
            while let Some(module) = next.pop() {
                next.extend(
                    edges.get(module).into_iter().flat_map(BTreeMap::keys).filter(|it| seen.insert((*it).clone())),
                );
            }
            seen
        };
        let reached: BTreeMap<_, _> = edges.keys().map(|it| (it.clone(), reachable(it))).collect();
        let circles: BTreeSet<BTreeSet<&Module>> = reached
            .iter()
            .filter(|(module, all)| all.contains(*module))
            .map(|(module, all)| {
                all.iter().filter(|it| reached.get(*it).is_some_and(|it| it.contains(module))).collect()
            })
            .collect();
        let describe = |circle: BTreeSet<&Module>| {
            let within = circle.iter().filter_map(|it| edges.get(*it)).flatten().filter(|(to, _)| circle.contains(to));
            within.map(|(_, description)| description.as_str()).collect::<Vec<_>>().join(", ")
        };
        circles.into_iter().map(describe).collect()
    }
}

/// Tests in the file may use anything, so they are excluded.
fn without_comments_and_tests(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines().map(|it| it.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// With their local names.
fn list_imports(text: &str) -> Vec<(Module, String)> {
    let mut found = Vec::new();
    for statement in text.split(';') {
        let begins = statement.match_indices("use ").map(|(at, _)| at).filter(|at| {
            let before = statement[..*at].trim_end();
            before.is_empty() || before.ends_with(['}', ')', ']', '{']) || before.ends_with("pub")
        });
        if let Some(begins) = begins.last() {
            expand_import(&[], statement[begins + 4..].trim(), &mut found);
        }
    }
    found
}

/// Expands `a::{b, c as d}` into single imports.
fn expand_import(before: &[String], tree: &str, found: &mut Vec<(Module, String)>) {
    let tree = tree.trim();
    if let Some((path, group)) = tree.split_once('{') {
        let mut before = before.to_vec();
        before.extend(segments(path));
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        let (mut depth, mut from) = (0, 0);
        for (at, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand_import(&before, &group[from..at], found);
                    from = at + 1;
                }
                _ => {}
            }
        }
        expand_import(&before, &group[from..], found);
    } else if !tree.is_empty() {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let mut path = [before, &segments(path)].concat();
        if path.last().is_some_and(|it| it == "self" && 1 < path.len()) {
            path.pop();
        }
        let name = if name.is_empty() { path.last().cloned().unwrap_or_default() } else { name.trim().to_owned() };
        found.push((path, name));
    }
}

fn segments(path: &str) -> Module {
    path.split("::").map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// Paths outside of `use` that begin with `crate`, `super` or `self`.
fn inline_paths(text: &str) -> Vec<Module> {
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let mut found = Vec::new();
    for begin in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(begin) {
            if text[..at].ends_with(|it| is_word(it) || it == ':' || it == '$') {
                continue;
            }
            let path: String = text[at..].chars().take_while(|it| is_word(*it) || *it == ':').collect();
            found.push(segments(&path));
        }
    }
    found
}

/// `None` for a path of another crate.
fn from_root(path: &[String], module: &Module) -> Option<Module> {
    let mut resolved = module.clone();
    let mut segments = path.iter().peekable();
    match segments.next()?.as_str() {
        "crate" => resolved.clear(),
        "self" => {}
        "super" => {
            resolved.pop();
        }
        _ => return None,
    }
    while segments.next_if(|it| *it == "super").is_some() {
        resolved.pop();
    }
    resolved.extend(segments.cloned());
    Some(resolved)
}
