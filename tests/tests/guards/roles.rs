//! Checks what roles allow.

use std::collections::BTreeSet;

use serde_json::json;
use tests::deployed::privileges::{SECRETS, granted};
use tests::template::{FUNCTIONS, Template};

use crate::Names;

#[test]
fn no_role_allows_all_actions_of_a_service_or_all_resources() {
    let template = Template::read().unwrap();
    let granted = granted(&template).unwrap();
    for (function, action, resource) in &granted {
        assert!(!action.contains('*'), "{function}: {action}");
        // Only files and secrets have names that the template cannot know, so only
        // they may have a `*`.
        let files = ["MediaBucket/media/*", "MediaBucket/derived/*"];
        let is_listed = !resource.contains('*') || files.contains(&resource.as_str()) || resource == SECRETS;
        assert!(is_listed, "{function}: {action} on {resource}");
    }
    assert_eq!(template.resources("AWS::IAM::Role").len(), FUNCTIONS.len(), "one role for each function, and no other");
    for name in FUNCTIONS {
        let policies = &template.function(name)["Properties"]["Policies"];
        assert!(policies.is_null(), "{name}: SAM would add policies of its own to these: {policies}");
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
    let mut expected: BTreeSet<_> = told.into_iter().map(|it| (it, SECRETS.to_owned())).collect();
    // What we are known by at the issuer is for whoever signs people in.
    expected.insert(("auth".to_owned(), "ClientSecret".to_owned()));
    assert_eq!(reads, expected);
}

#[test]
fn whoever_decodes_pictures_may_read_files_and_write_what_it_derived_and_nothing_else() {
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
