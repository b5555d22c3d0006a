//! The environment variables of functions.

use std::collections::BTreeMap;
use std::path::Path;

use platforms::PlatformSettings;
use serde_json::Value;
use tests::lambda::every_platform;
use tests::template::{FUNCTIONS, ROOT, Template};

use crate::{Names, quoted_after, read, rust_files};

#[test]
fn template_sets_exactly_the_variables_a_function_reads() {
    let template = Template::read().unwrap();
    for function in FUNCTIONS {
        let set = template.variables(function);
        let distinct: Names = set.iter().cloned().collect();
        assert_eq!(set.len(), distinct.len(), "{function}: a variable is set twice");

        assert_eq!(distinct, variables_read(function), "{function}");
    }
}

/// From the function's own config and from shared ones.
fn variables_read(function: &str) -> Names {
    let folder = format!("functions/{function}/src");
    let source: String = rust_files(&folder).into_iter().map(read).collect();
    let mut names = variables(&read("libs/cloud/src/aws.rs"));
    // The source assembles this name from parts, so it is not found there.
    names.insert("AWS_ENDPOINT_URL_DYNAMODB".to_owned());
    if !source.contains("from_env(&aws") {
        // Set for all functions, even for one without tables.
        names.insert("DUE_SHARDS".to_owned());
    }
    let own = format!("functions/{function}/src/config.rs");
    if Path::new(ROOT).join(&own).exists() {
        names.extend(variables(&read(own)));
    }
    add_shared(&source, &shared_readers(), &mut names);
    if source.contains("platform_config::platforms(") {
        names.extend(variables(&read("libs/platform_config/src/config.rs")));
    }
    names
}

/// By the call that runs the code.
fn shared_readers() -> BTreeMap<String, String> {
    let files = rust_files("libs").into_iter().map(read).filter(|it| it.contains("from_env"));
    let items = files.flat_map(|it| it.split("\n}\n").map(str::to_owned).collect::<Vec<_>>());
    let readers = items.filter(|it| it.contains("fn from_env(")).filter_map(|item| {
        let (_, owner) = item.split_once("\nimpl ")?;
        let (owner, _) = owner.split_once(" {")?;
        Some((format!("{owner}::from_env("), item))
    });
    readers.collect()
}

/// The variables that readers called by `source` read, directly or through others.
fn add_shared(source: &str, readers: &BTreeMap<String, String>, names: &mut Names) {
    for (_, reader) in readers.iter().filter(|(call, _)| source.contains(call.as_str())) {
        names.extend(variables(reader));
        let (_, body) = reader.split_once("fn from_env(").unwrap_or_default();
        add_shared(body, readers, names);
    }
}

/// In calls like `required("NAME")`, without those that Lambda sets.
fn variables(source: &str) -> Names {
    let is_name = |it: &String| 3 < it.len() && it.bytes().all(|it| it.is_ascii_uppercase() || it == b'_');
    quoted_after(source, "(\"").into_iter().filter(is_name).filter(|it| !it.starts_with("AWS_")).collect()
}

#[test]
fn environment_is_read_only_in_config_modules() {
    let files = ["functions", "libs"].into_iter().flat_map(rust_files);
    let readers = files.filter(|it| {
        let source = read(it);
        ["env::var", "try_from_env", "cloud::config::"].iter().any(|it| source.contains(it))
    });
    let strangers: Vec<_> = readers
        .filter(|it| it.file_name().unwrap() != "config.rs")
        .filter(|it| !it.starts_with(Path::new(ROOT).join("libs/cloud/src")))
        .collect();
    assert!(strangers.is_empty(), "the environment is read in {strangers:?}");
}

#[test]
fn deployment_instructions_list_every_variable() {
    let template = Template::read().unwrap();
    let set: Names = FUNCTIONS.iter().flat_map(|it| template.variables(it)).collect();
    let instructions = read("docs/deploying.md");
    let rows = instructions.lines().filter_map(|it| it.strip_prefix("| ")).filter_map(|it| it.split(" | ").next());
    let listed: Names = rows.flat_map(|it| it.split(", ")).map(|it| it.trim_matches('`').to_owned()).collect();
    let is_name = |it: &&String| it.bytes().all(|it| it.is_ascii_uppercase() || it == b'_');

    assert_eq!(listed.iter().filter(is_name).cloned().collect::<Names>(), set);
}

#[test]
fn sam_local_sets_every_variable() {
    let template = Template::read().unwrap();
    let set: Names = FUNCTIONS.iter().flat_map(|it| template.variables(it)).collect();
    let file: Value = serde_json::from_str(&read("infra/sam-local.json")).unwrap();

    // The file sets every variable that the template names, and no other.
    assert_eq!(file["Parameters"].as_object().unwrap().keys().cloned().collect::<Names>(), set);
    let enabled: Value = serde_json::from_str(file["Parameters"]["PLATFORMS"].as_str().unwrap()).unwrap();
    assert_eq!(enabled, every_platform("http://host.docker.internal:3000/sandbox"));
    let text = read("template.yaml");
    let place = |kind: &str| text.find(&format!("Type: {kind}\n")).unwrap();
    let (api, function) = (place("AWS::ApiGatewayV2::Api"), place("AWS::Serverless::Function"));
    assert!(api < function, "it looks for routes where the first of the two kinds has them");
}

#[test]
fn template_enables_the_platforms_that_need_no_app() {
    let template = Template::read().unwrap();
    let enabled = template.json()["Parameters"]["Platforms"]["Default"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<PlatformSettings>(enabled).unwrap(), platforms::default_settings());
}

#[test]
fn parameters_are_in_one_group_and_profiles_set_existing_ones() {
    let template = Template::read().unwrap();
    let parameters: Vec<_> = template.json()["Parameters"].as_object().unwrap().keys().cloned().collect();
    let groups = &template.json()["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"];
    let grouped = groups.as_array().unwrap().iter().flat_map(|it| it["Parameters"].as_array().unwrap());
    let mut grouped: Vec<_> = grouped.map(|it| it.as_str().unwrap().to_owned()).collect();
    grouped.sort();
    let mut sorted = parameters.clone();
    sorted.sort();
    assert_eq!(grouped, sorted);

    let overrides = quoted_after(&read("samconfig.toml"), "parameter_overrides = \"");
    let set = overrides.iter().flat_map(|it| it.split(' ')).filter_map(|it| it.split_once('='));
    for (name, value) in set {
        assert!(parameters.iter().any(|it| it == name), "samconfig.toml sets {name}");
        let allowed = template.json()["Parameters"][name]["AllowedValues"].as_array();
        let is_allowed =
            allowed.is_none_or(|it| it.iter().any(|it| it.as_str().map_or(it.to_string(), str::to_owned) == value));
        assert!(is_allowed, "samconfig.toml sets {name} to {value}");
    }
}
