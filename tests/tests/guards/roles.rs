use std::collections::BTreeSet;

use serde_json::json;
use storage::VaultKey;
use tests::deployed::privileges::{SECRETS, granted};
use tests::template::{FUNCTIONS, Template};

use crate::Names;

#[test]
fn roles_allow_no_wildcard_actions_or_resources() {
    let template = Template::read().unwrap();
    let granted = granted(&template).unwrap();
    for (function, action, resource) in &granted {
        assert!(!action.contains('*'), "{function}: {action}");
        // Only files, secrets and items of the vault have names that the template cannot know, so
        // only they may have a `*`.
        let parts = ["MediaBucket/media/*", "MediaBucket/derived/*", "VaultTable/platform#*", "VaultTable/webhook#*"];
        let is_listed = !resource.contains('*') || parts.contains(&resource.as_str()) || resource == SECRETS;
        assert!(is_listed, "{function}: {action} on {resource}");
    }
    assert_eq!(template.resources("AWS::IAM::Role").len(), FUNCTIONS.len(), "one role for each function, and no other");
    for name in FUNCTIONS {
        let policies = &template.function(name)["Properties"]["Policies"];
        assert!(policies.is_null(), "{name}: SAM would add policies of its own to these: {policies}");
    }
}

#[test]
fn functions_with_secret_arns_alone_may_read_secrets() {
    let template = Template::read().unwrap();
    let mut with_secret_arns = Names::new();
    for name in FUNCTIONS {
        let prefix = &template.function(name)["Properties"]["Environment"]["Variables"]["PLATFORM_SECRETS"];
        if !prefix.is_null() {
            assert_eq!(*prefix, json!({ "Ref": "AWS::StackName" }), "{name}: as in the ARN that roles name");
            with_secret_arns.insert(name.to_owned());
        }
    }

    let granted = granted(&template).unwrap().into_iter();
    let reads = granted.filter(|(_, action, _)| action.starts_with("secretsmanager:"));
    let reads: BTreeSet<_> = reads.map(|(function, _, secrets)| (function, secrets)).collect();

    assert!(!with_secret_arns.is_empty());
    let mut expected: BTreeSet<_> = with_secret_arns.into_iter().map(|it| (it, SECRETS.to_owned())).collect();
    // The client secret at the issuer is for the function that signs users in.
    expected.insert(("auth".to_owned(), "ClientSecret".to_owned()));
    assert_eq!(reads, expected);
}

/// Permissions on the vault and the sealing key, without the actions.
fn accessible_secrets(function: &str) -> BTreeSet<String> {
    let granted = granted(&Template::read().unwrap()).unwrap().into_iter();
    let own = granted.filter(|(it, _, _)| it == function).map(|(_, _, resource)| resource);
    own.filter(|it| it.starts_with("VaultTable") || it.starts_with("SealingKey")).collect()
}

#[test]
fn functions_read_only_their_own_kinds_of_secrets() {
    for function in FUNCTIONS {
        let expected: &[&str] = match function {
            "connections" => &["SealingKey/grant", "SealingKey/vault", "VaultTable/platform#*"],
            "delivery" | "upkeep" => &["SealingKey/grant"],
            "webhooks" => &["SealingKey/webhook", "VaultTable/webhook#*"],
            _ => &[],
        };
        let expected: BTreeSet<_> = expected.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(accessible_secrets(function), expected, "{function}");
    }
}

#[test]
fn functions_cannot_read_each_others_vault_items() {
    let reaches = |function: &str, key: &VaultKey| {
        let within = accessible_secrets(function);
        let pattern = within.iter().find_map(|it| it.strip_prefix("VaultTable/")).unwrap();
        let start = pattern.strip_suffix('*').unwrap();
        (key.entry().starts_with(start), within.contains(&format!("SealingKey/{}", key.context().kind.as_str())))
    };
    // Server names that users enter are a part of these names.
    for name in ["mastodon good.example", "bluesky", "webhook#signing_key", ""] {
        let key = VaultKey::platform(name);
        assert_eq!(reaches("connections", &key), (true, true), "{name}");
        assert_eq!(reaches("webhooks", &key), (false, false), "{name}");
    }
    let key = VaultKey::webhook("signing_key");
    assert_eq!(reaches("webhooks", &key), (true, true));
    assert_eq!(reaches("connections", &key), (false, false));
}

#[test]
fn pictures_may_only_read_files_and_write_derived_ones() {
    let granted = granted(&Template::read().unwrap()).unwrap().into_iter();
    let pictures = granted.filter(|(function, _, _)| function == "pictures");
    let allowed: BTreeSet<_> = pictures.map(|(_, action, resource)| format!("{action} {resource}")).collect();

    let expected = [
        "logs:CreateLogStream PicturesLogs",
        "logs:PutLogEvents PicturesLogs",
        "s3:GetObject MediaBucket/derived/*",
        "s3:GetObject MediaBucket/media/*",
        "s3:PutObject MediaBucket/derived/*",
        "sqs:DeleteMessage PicturesQueue",
        "sqs:GetQueueAttributes PicturesQueue",
        "sqs:ReceiveMessage PicturesQueue",
    ];
    assert_eq!(allowed, expected.map(str::to_owned).into());
}
