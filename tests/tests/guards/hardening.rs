//! What the template closes, encrypts and retains.

use serde_json::{Value, json};
use tests::template::Template;

use crate::read;

fn properties<'a>(template: &'a Template, kind: &str) -> Vec<(String, &'a Value)> {
    template.resources(kind).into_iter().map(|(name, it)| (name.to_owned(), it)).collect()
}

fn refers_to(value: &Value, name: &str) -> bool {
    *value == json!({ "Ref": name }) || *value == json!({ "Fn::GetAtt": [name, "Arn"] })
}

fn requires_tls(policy: &Value) -> bool {
    let statements = policy["PolicyDocument"]["Statement"].as_array();
    statements.into_iter().flatten().any(|it| {
        it["Effect"] == "Deny"
            && it["Principal"] == "*"
            && it["Condition"]["Bool"]["aws:SecureTransport"] == "false"
            && (it["Action"] == "sqs:*" || it["Action"] == "s3:*")
    })
}

#[test]
fn every_queue_and_bucket_requires_tls() {
    let template = Template::read().unwrap();
    let policies = properties(&template, "AWS::SQS::QueuePolicy");
    for (queue, it) in properties(&template, "AWS::SQS::Queue") {
        assert_eq!(it["SqsManagedSseEnabled"], true, "{queue}");
        let names = |it: &Value| it["Queues"].as_array().unwrap().iter().any(|it| refers_to(it, &queue));
        assert!(policies.iter().any(|(_, it)| requires_tls(it) && names(it)), "{queue}");
    }
    let policies = properties(&template, "AWS::S3::BucketPolicy");
    for (bucket, _) in properties(&template, "AWS::S3::Bucket") {
        assert!(policies.iter().any(|(_, it)| requires_tls(it) && refers_to(&it["Bucket"], &bucket)), "{bucket}");
    }
}

#[test]
fn logs_and_alarms_are_encrypted_if_a_key_is_given() {
    let template = Template::read().unwrap();
    let key = json!({ "Fn::If": ["EncryptsLogs", { "Fn::GetAtt": ["LogKey", "Arn"] }, { "Ref": "AWS::NoValue" }] });
    for (name, it) in properties(&template, "AWS::Logs::LogGroup") {
        assert_eq!(it["KmsKeyId"], key, "{name}");
    }
    for (name, it) in properties(&template, "AWS::SNS::Topic") {
        assert_eq!(it["KmsMasterKeyId"], key, "{name}");
    }
}

#[test]
fn deleted_files_can_be_restored_for_a_limited_number_of_days() {
    let template = Template::read().unwrap();
    for (bucket, it) in properties(&template, "AWS::S3::Bucket") {
        assert_eq!(it["VersioningConfiguration"]["Status"], "Enabled", "{bucket}");
        let rules = it["LifecycleConfiguration"]["Rules"].as_array().unwrap();
        let ends = rules.iter().filter(|it| it["Status"] == "Enabled" && it["Prefix"].is_null());
        let days: Vec<_> = ends.filter_map(|it| it["NoncurrentVersionExpiration"]["NoncurrentDays"].as_u64()).collect();
        assert_eq!(days, [14], "{bucket}: as docs/runbook.md says it");
        assert!(rules.iter().any(|it| it["ExpiredObjectDeleteMarker"] == true), "{bucket}");
    }
    assert!(read("docs/runbook.md").contains("Files that were deleted can be brought back for 14 days"));
}

#[test]
fn domain_closes_the_address_of_the_gateway() {
    let template = Template::read().unwrap();
    for (_, it) in properties(&template, "AWS::ApiGatewayV2::Api") {
        assert_eq!(it["DisableExecuteApiEndpoint"], json!({ "Fn::If": ["HasDomain", true, false] }));
    }
}

#[test]
fn second_factor_and_password_length_are_parameters() {
    let template = Template::read().unwrap();
    for (_, it) in properties(&template, "AWS::Cognito::UserPool") {
        assert_eq!(it["MfaConfiguration"], json!({ "Ref": "SecondFactor" }));
        let factors = json!({ "Fn::If": ["HasSecondFactor", ["SOFTWARE_TOKEN_MFA"], { "Ref": "AWS::NoValue" }] });
        assert_eq!(it["EnabledMfas"], factors);
        assert_eq!(it["Policies"]["PasswordPolicy"]["MinimumLength"], json!({ "Ref": "PasswordLength" }));
    }
    assert_eq!(template.json()["Parameters"]["PasswordLength"]["MinValue"], 12);
}

#[test]
fn gateway_keeps_access_logs_for_thirty_days() {
    let template = Template::read().unwrap();
    for (_, it) in properties(&template, "AWS::ApiGatewayV2::Stage") {
        let log = &it["AccessLogSettings"];
        assert!(log["Format"].as_str().unwrap().contains("$context.identity.sourceIp"));
        let group = log["DestinationArn"]["Fn::GetAtt"][0].as_str().unwrap();
        assert_eq!(template.resources("AWS::Logs::LogGroup")[group]["RetentionInDays"], 30);
    }
}

#[test]
fn functions_have_only_the_secrets_they_need() {
    let template = Template::read().unwrap();
    let parameters = template.json()["Parameters"].as_object().unwrap();
    let secret = parameters.iter().filter(|it| it.1["NoEcho"] == true).map(|it| it.0.as_str());
    assert_eq!(secret.collect::<Vec<_>>(), ["FileSecret", "OidcClientSecret", "TrustedProxySecret"]);
    for function in tests::template::FUNCTIONS {
        let variables = &template.function(function)["Properties"]["Environment"]["Variables"];
        assert!(!variables.to_string().contains("OidcClientSecret"), "{function}");
        assert!(!variables.to_string().contains("UserPoolClient.ClientSecret"), "{function}");
        let knows_mcp = ["auth", "connections", "mcp", "media", "posts", "webhooks"].contains(&function);
        assert_eq!(variables.to_string().contains("McpSecret"), knows_mcp, "{function}");
        let has_files = ["delivery", "media"].contains(&function);
        assert_eq!(variables.to_string().contains("FileSecret"), has_files, "{function}");
        let knows_tools = ["auth", "connections", "mcp", "media", "posts", "webhooks"].contains(&function);
        assert_eq!(variables.to_string().contains("McpSecret"), knows_tools, "{function}");
    }
}

#[test]
fn proxy_sends_the_client_address_in_the_expected_header() {
    let instructions = read("docs/deploying.md");
    let edge = read("infra/edge.yaml");
    for header in ["x-client-address", "x-proxy-secret"] {
        assert!(edge.contains(header) && instructions.contains(header), "{header}");
    }
}
