//! What has to stay the same in several places: the API's document, the
//! template, infra/deploying.md, and the code.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use platforms::STEP_LIMIT;
use publishing::BEGIN_WITHIN;
use serde_json::{Value, json};
use storage::{Key, Projection, Table, TableSchema};
use utoipa::openapi::OpenApi;

use tests::deployed::privileges::{SECRETS, granted};
use tests::template::{self, FUNCTIONS, ROOT, Template};

type Names = BTreeSet<String>;

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What the functions that answer requests describe of themselves.
fn documented() -> BTreeMap<&'static str, OpenApi> {
    BTreeMap::from([
        ("auth", auth::documented()),
        ("connections", connections::documented()),
        ("media", media::documented()),
        ("posts", posts::documented()),
    ])
}

fn document() -> Value {
    serde_json::to_value(api::openapi::describe(documented().into_values())).unwrap()
}

/// Every operation of the document with its name.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = item.as_object().unwrap().iter().filter(|(_, it)| it["responses"].is_object());
        operations.extend(methods.map(|(method, operation)| (format!("{method} {path}"), operation)));
    }
    operations
}

#[test]
fn the_document_that_is_served_is_the_one_of_the_routes() {
    let file = Path::new(ROOT).join("libs/api/openapi.json");
    let described = format!("{:#}\n", document());
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &described).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap() == described,
        "libs/api/openapi.json is not up to date: UPDATE=1 cargo test -p tests --test guards writes it"
    );
}

#[test]
fn every_operation_is_described_in_full() {
    let document = document();
    let operations = operations(&document);
    assert_eq!(operations.len(), 14, "the operations of the specification, and DELETE /posts/{{post}}");

    let mut lacks = Vec::new();
    let mut ids = Names::new();
    for (name, operation) in operations {
        for part in ["summary", "operationId"] {
            if operation[part].as_str().is_none_or(str::is_empty) {
                lacks.push(format!("{name}: {part}"));
            }
        }
        if operation["tags"].as_array().is_none_or(|it| it.len() != 1) {
            lacks.push(format!("{name}: one tag"));
        }
        assert!(ids.insert(operation["operationId"].to_string()), "{name}: its operationId is another's");
        let body = &operation["requestBody"];
        if body.is_object() && !has_example(&document, body) {
            lacks.push(format!("{name}: an example of its body"));
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            if response["description"].as_str().is_none_or(str::is_empty) {
                lacks.push(format!("{name}: a description of {status}"));
            }
            if response["content"].is_object() && !has_example(&document, response) {
                lacks.push(format!("{name}: an example of {status}"));
            }
        }
    }
    assert!(lacks.is_empty(), "the document lacks\n{}", lacks.join("\n"));
}

/// Whether a body comes with an example, of its own or of its schema.
fn has_example(document: &Value, body: &Value) -> bool {
    let mut media = body["content"].as_object().unwrap().values();
    media.all(|it| it.get("example").or(it.get("examples")).is_some() || schema_has_example(document, &it["schema"]))
}

fn schema_has_example(document: &Value, schema: &Value) -> bool {
    if let Some(reference) = schema["$ref"].as_str() {
        return schema_has_example(document, document.pointer(&reference[1..]).unwrap());
    }
    let has = |it: &Value| schema_has_example(document, it);
    let alternatives = ["oneOf", "anyOf", "allOf"].iter().filter_map(|it| schema[it].as_array()).flatten();
    schema.get("example").or(schema.get("examples")).is_some()
        || schema["properties"].as_object().is_some_and(|it| it.values().any(has))
        || has_items(schema) && has(&schema["items"])
        || alternatives.into_iter().any(has)
}

fn has_items(schema: &Value) -> bool {
    schema["items"].is_object()
}

#[test]
fn the_template_has_the_routes_that_are_served() {
    let template = Template::read().unwrap();
    let mut deployed: BTreeMap<String, Names> = BTreeMap::new();
    for route in template.resources("AWS::ApiGatewayV2::Route").values() {
        let target = route["Target"]["Fn::Sub"].as_str().unwrap();
        let function = target.strip_prefix("integrations/${").unwrap().strip_suffix("Integration}").unwrap();
        let key = route["RouteKey"].as_str().unwrap();
        // All methods: the function answers the wrong ones, HEAD and OPTIONS.
        let path = key.strip_prefix("ANY ").unwrap_or(key);
        assert!(deployed.entry(function.to_lowercase()).or_default().insert(path.to_owned()), "{key} twice");
    }

    let mut served: BTreeMap<String, Names> = BTreeMap::new();
    for (function, document) in documented() {
        let routes = served.entry(function.to_owned()).or_default();
        routes.extend(document.paths.paths.into_keys());
        routes.extend(added(&read(format!("functions/{function}/src/lib.rs"))));
    }
    let auth = served.get_mut("auth").unwrap();
    // Every function has those, and one is asked for them.
    auth.extend(added(&read("libs/api/src/page/assets.rs")));
    // Whatever nobody has is answered by it, too.
    auth.insert("$default".to_owned());

    assert_eq!(deployed, served);
}

/// The paths of `.route("…`.
fn added(source: &str) -> Vec<String> {
    quoted_after(source, ".route(\"")
}

fn quoted_after(source: &str, start: &str) -> Vec<String> {
    let found = source.split(start).skip(1).filter_map(|it| it.split_once('"'));
    found.map(|(text, _)| text.to_owned()).collect()
}

#[test]
fn integrations_lead_to_the_functions_they_are_named_after() {
    let template = Template::read().unwrap();
    let integrations = template.resources("AWS::ApiGatewayV2::Integration");
    assert_eq!(integrations.len(), documented().len());
    for (name, integration) in integrations {
        let function = name.strip_suffix("Integration").unwrap();
        let uri = integration["IntegrationUri"]["Fn::Sub"].as_str().unwrap();
        assert!(uri.contains(&format!("${{{function}Function.Arn}}")), "{name}: {uri}");
        let permission = &template.resources("AWS::Lambda::Permission")[format!("{function}Permission").as_str()];
        assert_eq!(permission["FunctionName"]["Ref"], format!("{function}Function"));
    }
}

#[test]
fn the_template_has_the_tables_of_the_store() {
    let template = Template::read().unwrap();
    let deployed = template.resources("AWS::DynamoDB::Table");
    let deployed: BTreeMap<_, _> = deployed.into_values().map(|it| (it["TableName"].to_string(), shape(it))).collect();

    let kept = Table::ALL.iter().map(|it| {
        let name = json!({ "Fn::Sub": it.table.name("${AWS::StackName}") });
        (name.to_string(), wanted(it))
    });

    assert_eq!(deployed, kept.collect());
}

/// What of a table has to be the same.
fn shape(table: &Value) -> Value {
    let mut attributes = table["AttributeDefinitions"].as_array().unwrap().clone();
    attributes.sort_by_key(|it| it["AttributeName"].to_string());
    let mut indexes = table.get("GlobalSecondaryIndexes").cloned().unwrap_or_default();
    for index in indexes.as_array_mut().into_iter().flatten() {
        // How fast it is, not what it holds.
        index.as_object_mut().unwrap().remove("WarmThroughput");
    }
    json!({
        "attributes": attributes,
        "keys": table["KeySchema"],
        "indexes": indexes,
        "ttl": table.get("TimeToLiveSpecification").unwrap_or(&Value::Null),
        "billing": table["BillingMode"],
        "recovery": table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"],
        "encryption": table["SSESpecification"]["SSEEnabled"],
        "protection": table["DeletionProtectionEnabled"],
    })
}

fn wanted(table: &TableSchema) -> Value {
    let of_indexes = table.indexes.iter().flat_map(|it| [it.hash, it.range]);
    let keys: BTreeMap<&str, Key> =
        [table.hash].into_iter().chain(table.range).chain(of_indexes).map(|it| (it.name, it)).collect();
    let attributes: Vec<_> =
        keys.values().map(|it| json!({ "AttributeName": it.name, "AttributeType": it.kind })).collect();
    let indexes: Vec<_> = table
        .indexes
        .iter()
        .map(|it| {
            let projection = match it.projection {
                Projection::Keys => json!({ "ProjectionType": "KEYS_ONLY" }),
                Projection::Include(names) => json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names }),
                Projection::All => json!({ "ProjectionType": "ALL" }),
            };
            json!({ "IndexName": it.name, "KeySchema": key_schema(it.hash, Some(it.range)), "Projection": projection })
        })
        .collect();
    json!({
        "attributes": attributes,
        "keys": key_schema(table.hash, table.range),
        "indexes": if indexes.is_empty() { Value::Null } else { json!(indexes) },
        "ttl": table.ttl.map_or(Value::Null, |it| json!({ "AttributeName": it, "Enabled": true })),
        "billing": "PAY_PER_REQUEST",
        "recovery": true,
        "encryption": true,
        "protection": { "Ref": "DeletionProtection" },
    })
}

fn key_schema(hash: Key, range: Option<Key>) -> Value {
    let mut keys = vec![json!({ "AttributeName": hash.name, "KeyType": "HASH" })];
    keys.extend(range.map(|it| json!({ "AttributeName": it.name, "KeyType": "RANGE" })));
    json!(keys)
}

#[test]
fn the_template_sets_exactly_the_variables_that_a_function_reads() {
    let template = Template::read().unwrap();
    for function in FUNCTIONS {
        let set = template.variables(function);
        let distinct: Names = set.iter().cloned().collect();
        assert_eq!(set.len(), distinct.len(), "{function}: a variable is set twice");

        assert_eq!(distinct, variables_read(function), "{function}");
    }
}

/// The variables that a function reads: by its own settings, and by those it
/// shares with others.
fn variables_read(function: &str) -> Names {
    let folder = format!("functions/{function}/src");
    let source: String = rust_files(&folder).into_iter().map(read).collect();
    let mut names = variables(&read("libs/cloud/src/aws.rs"));
    // Made up of its parts there.
    names.insert("AWS_ENDPOINT_URL_DYNAMODB".to_owned());
    let own = format!("functions/{function}/src/config.rs");
    if Path::new(ROOT).join(&own).exists() {
        names.extend(variables(&read(own)));
    }
    if source.contains("Api::from_env") {
        names.extend(variables(&read("libs/api/src/environment.rs")));
    }
    if source.contains("Publishing::from_env") {
        names.extend(variables(&read("libs/publishing/src/environment.rs")));
    }
    if source.contains("deployment::platforms(") {
        names.extend(variables(&read("libs/deployment/src/environment.rs")));
    }
    names
}

/// What calls like `required("NAME")` name. Those of AWS are set by Lambda.
fn variables(source: &str) -> Names {
    let is_name = |it: &String| 3 < it.len() && it.bytes().all(|it| it.is_ascii_uppercase() || it == b'_');
    quoted_after(source, "(\"").into_iter().filter(is_name).filter(|it| !it.starts_with("AWS_")).collect()
}

#[test]
fn the_environment_is_read_where_settings_are_and_nowhere_else() {
    let files = ["functions", "libs"].into_iter().flat_map(rust_files);
    let readers = files.filter(|it| {
        let source = read(it);
        ["env::var", "try_from_env", "cloud::settings::"].iter().any(|it| source.contains(it))
    });
    let strangers: Vec<_> = readers
        .filter(|it| {
            let name = it.file_name().unwrap();
            let is_for_settings = name == "config.rs" || name == "environment.rs";
            !is_for_settings && !it.starts_with(Path::new(ROOT).join("libs/cloud/src"))
        })
        .collect();
    assert!(strangers.is_empty(), "settings are read in {strangers:?}");
}

#[test]
fn the_instructions_for_deploying_list_every_variable() {
    let template = Template::read().unwrap();
    let set: Names = FUNCTIONS.iter().flat_map(|it| template.variables(it)).collect();
    let instructions = read("infra/deploying.md");
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

    // It sets what the template names, and nothing else.
    assert_eq!(file["Parameters"].as_object().unwrap().keys().cloned().collect::<Names>(), set);
    let text = read("template.yaml");
    let place = |kind: &str| text.find(&format!("Type: {kind}\n")).unwrap();
    let (api, function) = (place("AWS::ApiGatewayV2::Api"), place("AWS::Serverless::Function"));
    assert!(api < function, "it looks for routes where the first of the two kinds has them");
}

fn rust_files(folder: &str) -> Vec<PathBuf> {
    template::rust_files(folder).unwrap()
}

#[test]
fn every_function_has_its_folder_its_resource_and_its_event() {
    let template = Template::read().unwrap();
    let names = |folder: &str| -> Names {
        let entries = fs::read_dir(Path::new(ROOT).join(folder)).unwrap();
        // Beside the functions is the build script of all of them.
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
        // From the top, cargo would build it with what the tests turn on.
        assert_eq!(template.function(name)["Properties"]["CodeUri"], format!("functions/{name}"));
    }
}

#[test]
fn a_message_stays_hidden_for_six_times_as_long_as_a_delivery_may_take() {
    let template = Template::read().unwrap();
    let delivery = template.function("delivery")["Properties"]["Timeout"].as_u64().unwrap();
    let hidden = template.resources("AWS::SQS::Queue")["DeliveryQueue"]["VisibilityTimeout"].as_u64().unwrap();

    assert!(6 * delivery <= hidden, "{delivery} s and {hidden} s");
    assert!(delivery < domain::delivery::LEASE.num_seconds().unsigned_abs(), "whoever works on a delivery holds it");
}

#[test]
fn what_a_delivery_begins_ends_before_its_function_does() {
    let template = Template::read().unwrap();
    let function = template.function("delivery")["Properties"]["Timeout"].as_u64().unwrap();
    let begun = BEGIN_WITHIN.num_seconds().unsigned_abs() + STEP_LIMIT.as_secs();

    assert!(begun + 10 <= function, "{begun} s and {function} s");
    let unclaimed = domain::delivery::UNCLAIMED_FOR.num_seconds().unsigned_abs();
    assert!(function < unclaimed, "whoever made a post has claimed it, or is no more: {function} s and {unclaimed} s");
}

#[test]
fn no_role_allows_all_actions_of_a_service_or_all_resources() {
    let template = Template::read().unwrap();
    let granted = granted(&template).unwrap();
    for (function, action, resource) in &granted {
        assert!(!action.contains('*'), "{function}: {action}");
        // Files of uploads, and secrets, have names that nobody knows before.
        let is_listed = !resource.contains('*') || ["MediaBucket/media/*", SECRETS].contains(&resource.as_str());
        assert!(is_listed, "{function}: {action} on {resource}");
    }
    assert_eq!(template.resources("AWS::IAM::Role").len(), FUNCTIONS.len(), "one role for each function, and no other");
    for name in FUNCTIONS {
        let policies = &template.function(name)["Properties"]["Policies"];
        assert!(policies.is_null(), "{name}: SAM would add policies of its own to these: {policies}");
    }
}

#[test]
fn every_parameter_stands_in_one_group_and_profiles_set_only_what_there_is() {
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

#[test]
fn who_is_told_where_secrets_are_may_read_them_and_nobody_else() {
    let template = Template::read().unwrap();
    let mut told = Names::new();
    for name in FUNCTIONS {
        let prefix = &template.function(name)["Properties"]["Environment"]["Variables"]["PLATFORM_SECRETS"];
        if !prefix.is_null() {
            assert_eq!(*prefix, json!({ "Ref": "AWS::StackName" }), "{name}: as in the ARN that roles name");
            told.insert(name.to_owned());
        }
    }

    let granted = granted(&template).unwrap().into_iter();
    let reads = granted.filter(|(_, action, _)| action.starts_with("secretsmanager:"));
    let reads: BTreeSet<_> = reads.map(|(function, _, secrets)| (function, secrets)).collect();

    assert!(!told.is_empty());
    assert_eq!(reads, told.into_iter().map(|it| (it, SECRETS.to_owned())).collect());
}

#[test]
fn the_top_level_holds_what_it_is_to_hold() {
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
            "README.md",
            "functions",
            "infra",
            "libs",
            "rust-toolchain.toml",
            "samconfig.toml",
            "template.yaml",
            "tests",
        ]
    );
}
