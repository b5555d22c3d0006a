use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tests::template::{FUNCTIONS, ROOT, Template};

use crate::{Names, read};

#[test]
fn every_function_has_folder_resource_and_event() {
    let template = Template::read().unwrap();
    let names = |folder: &str| -> Names {
        let entries = fs::read_dir(Path::new(ROOT).join(folder)).unwrap();
        // The functions' build script is next to them.
        let paths = entries.map(|it| it.unwrap().path()).filter(|it| it.extension().is_none_or(|it| it != "rs"));
        paths.map(|it| it.file_stem().unwrap().to_string_lossy().into_owned()).collect()
    };
    let functions: Names = FUNCTIONS.map(str::to_owned).into();

    assert_eq!(names("functions"), functions);
    assert_eq!(names("infra/events"), functions);
    assert_eq!(template.resources("AWS::Serverless::Function").len(), functions.len());
    for name in FUNCTIONS {
        let metadata = &template.function(name)["Metadata"];
        assert_eq!(metadata, &json!({ "BuildMethod": "rust-cargolambda", "BuildProperties": { "Binary": name } }));
        // Built from the top, cargo would enable features that only tests need.
        assert_eq!(template.function(name)["Properties"]["CodeUri"], format!("functions/{name}"));
    }
}

#[test]
fn contents_of_the_template_list_its_sections() {
    let text = read("template.yaml");

    let entries = text.lines().filter_map(|line| line.strip_prefix("#   "));
    let listed: Vec<_> = entries.filter_map(|line| line.trim_start().split("  ").next()).collect();
    let sections = text.lines().filter_map(|line| {
        let is_key = !line.starts_with([' ', '#']);
        line.strip_prefix("  # ==== ").or_else(|| line.strip_suffix(':').filter(|_| is_key))
    });
    let sections: Vec<_> = sections.collect();

    assert!(sections.contains(&"Resources"));
    assert_eq!(listed, sections);
}

#[test]
fn top_level_has_the_expected_entries() {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(ROOT)
        .output()
        .expect("git lists the files");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let top: Names = listed.lines().filter_map(|it| it.split('/').next()).map(str::to_owned).collect();

    let visible: Vec<_> = top.iter().filter(|it| !it.starts_with('.')).map(String::as_str).collect();
    assert_eq!(
        visible,
        [
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "Cargo.lock",
            "Cargo.toml",
            "LICENSE",
            "NOTICE",
            "README.md",
            "SECURITY.md",
            "deny.toml",
            "docs",
            "functions",
            "infra",
            "libs",
            "rust-toolchain.toml",
            "samconfig.toml",
            "template.yaml",
            "tests",
            "typos.toml",
        ]
    );
}

#[test]
fn no_product_depends_on_a_package_below_tests() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(ROOT)
        .output()
        .expect("cargo describes the packages");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let tests = fs::canonicalize(Path::new(ROOT).join("tests")).unwrap();
    let is_test = |path: &serde_json::Value| path.as_str().is_some_and(|it| Path::new(it).starts_with(&tests));
    let packages = metadata["packages"].as_array().unwrap();

    let products = packages.iter().filter(|it| !is_test(&it["manifest_path"]));
    let wrong: Vec<_> = products
        .flat_map(|it| it["dependencies"].as_array().unwrap().iter().map(move |dependency| (it, dependency)))
        .filter(|(_, dependency)| dependency["kind"].is_null() && is_test(&dependency["path"]))
        .map(|(package, dependency)| format!("{} on {}", package["name"], dependency["name"]))
        .collect();

    assert_eq!(wrong, Vec::<String>::new());
}
