//! Compares what the roles of the template allow with the calls that functions made.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value;

use super::recorder::{Call, KEY, SEALED_BY};
use crate::{
    ensure,
    error::{Result, TestError},
    template::{FUNCTIONS, Template, function_name},
};

/// The function, the action and the resource, by their names in the template.
pub type Permission = (String, String, String);

/// There should be none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    pub unused: BTreeSet<Permission>,
    pub missing: BTreeSet<Permission>,
    pub granted: usize,
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        for (function, action, resource) in &self.unused {
            lines.push(format!("granted and not used: {function} {action} {resource}"));
        }
        for (function, action, resource) in &self.missing {
            lines.push(format!("used and not granted: {function} {action} {resource}"));
        }
        f.write_str(&lines.join("\n      "))
    }
}

/// The prefix of the local stack's tables.
const LOCAL: &str = "local";

/// Client ids and client secrets at platforms. An operator adds them, so the template cannot list
/// them.
pub const SECRETS: &str = "Secrets/*";

/// [`SECRETS`] as roles name them.
const SECRETS_ARN: &str =
    "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${AWS::StackName}/*";

/// Calls that AWS makes for a function: it writes the log, and receives the messages that invoke
/// the function.
fn is_done_by_aws(function: &str, action: &str) -> bool {
    let writes_log = ["logs:CreateLogStream", "logs:PutLogEvents"].contains(&action);
    let polls = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"].contains(&action);
    writes_log || ["delivery", "pictures", "webhooks"].contains(&function) && polls
}

/// S3 answers 404 for a missing file only to callers with this permission. The function that
/// decodes images does not have it: an attacker who controls it would learn the names of all files.
/// For this function, a missing object is an error like any other.
fn is_deliberately_missing(function: &str, action: &str) -> bool {
    function == "pictures" && action == "s3:ListBucket"
}

pub(super) fn compare(template: &Template, used: &BTreeSet<Permission>) -> Result<Differences> {
    let granted = granted(template)?;
    let function_grants: BTreeSet<_> =
        granted.iter().filter(|(function, action, _)| !is_done_by_aws(function, action)).cloned().collect();
    let used: BTreeSet<_> =
        used.iter().filter(|(function, action, _)| !is_deliberately_missing(function, action)).cloned().collect();
    Ok(Differences { unused: &function_grants - &used, missing: &used - &function_grants, granted: granted.len() })
}

/// `names` has the names of the stack's resources.
pub(super) fn used(
    template: &Template,
    stack: &str,
    names: &BTreeMap<String, String>,
    calls: &BTreeSet<Call>,
) -> BTreeSet<Permission> {
    calls.iter().filter_map(|it| find_permission(template, stack, names, it)).collect()
}

pub(super) fn locally_used_permissions(template: &Template, log: &str) -> Result<BTreeSet<Permission>> {
    let mut names: BTreeMap<_, _> = FUNCTIONS.into_iter().map(|it| (function_name(it), it.to_owned())).collect();
    for (name, table) in template.resources("AWS::DynamoDB::Table") {
        let table = table["TableName"]["Fn::Sub"].as_str().unwrap_or_default();
        names.insert(name.to_owned(), table.replace("${AWS::StackName}", LOCAL));
    }
    names.insert("MediaBucket".to_owned(), "social-publishing-media".to_owned());
    Ok(used(template, LOCAL, &names, &Call::logged(log)?))
}

pub fn granted(template: &Template) -> Result<BTreeSet<Permission>> {
    let roles = template.resources("AWS::IAM::Role");
    let mut granted = BTreeSet::new();
    for function in FUNCTIONS {
        let role = template.function(function)["Properties"]["Role"]["Fn::GetAtt"][0].as_str().unwrap_or_default();
        let role = roles.get(role).ok_or_else(|| TestError::new(format!("{function} has no role")))?;
        let policies = role["Policies"].as_array().into_iter().flatten();
        let statements = policies.filter_map(|it| it["PolicyDocument"]["Statement"].as_array()).flatten();
        // A conditional statement counts as granted.
        for statement in statements.map(|it| it["Fn::If"].get(1).unwrap_or(it)) {
            ensure!(statement["Effect"] == "Allow", "{function}: {statement}");
            for action in as_list(&statement["Action"]) {
                for resource in as_list(&statement["Resource"]) {
                    let (action, resource) = (action.as_str().unwrap_or_default(), resource_name(resource)?);
                    for part in conditional_parts(&resource, &statement["Condition"]) {
                        granted.insert((function.to_owned(), action.to_owned(), part));
                    }
                }
            }
        }
    }
    Ok(granted)
}

/// The parts of a resource to which a condition limits a permission: secrets of one kind, and items
/// of the vault, each as `SealingKey/grant` or `VaultTable/webhook#*`. Without such a condition,
/// the whole resource.
fn conditional_parts(resource: &str, condition: &Value) -> Vec<String> {
    let values = match resource {
        "SealingKey" if condition["StringEquals"]["kms:EncryptionContext:service"] == SEALED_BY => {
            &condition["StringEquals"]["kms:EncryptionContext:kind"]
        }
        "VaultTable" => &condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"],
        _ => &Value::Null,
    };
    if values.is_null() {
        return vec![resource.to_owned()];
    }
    as_list(values).into_iter().filter_map(Value::as_str).map(|it| format!("{resource}/{it}")).collect()
}

fn as_list(value: &Value) -> Vec<&Value> {
    value.as_array().map_or_else(|| vec![value], |it| it.iter().collect())
}

/// Its name in the template, such as `GrantsTable/index/by_user`.
fn resource_name(resource: &Value) -> Result<String> {
    if let Some(name) = resource["Ref"].as_str().or_else(|| resource["Fn::GetAtt"][0].as_str()) {
        return Ok(name.to_owned());
    }
    let text = resource["Fn::Sub"].as_str().ok_or_else(|| TestError::new(format!("not a resource: {resource}")))?;
    if text == SECRETS_ARN {
        return Ok(SECRETS.to_owned());
    }
    Ok(text.replace("${", "").replace(".Arn}", "").replace('}', ""))
}

/// In the template's names; `None` for functions of other stacks.
fn find_permission(
    template: &Template,
    stack: &str,
    names: &BTreeMap<String, String>,
    call: &Call,
) -> Option<Permission> {
    let function = FUNCTIONS.into_iter().find(|it| names.get(&function_name(it)) == Some(&call.function))?;
    let resource = if let Some(kind) = call.resource.strip_prefix(KEY) {
        format!("SealingKey/{kind}")
    } else if call.action.starts_with("secretsmanager:") && call.resource.starts_with(&format!("{stack}/")) {
        SECRETS.to_owned()
    } else {
        let mut candidates = template.resources(kind(call.action)).into_keys();
        let found = candidates.find_map(|it| match_resource(it, names.get(it)?, &call.resource));
        found.unwrap_or_else(|| call.resource.clone())
    };
    Some((function.to_owned(), call.action.to_owned(), resource))
}

/// The type of resource that the action is for.
fn kind(action: &str) -> &'static str {
    match action.split(':').next() {
        Some("dynamodb") => "AWS::DynamoDB::Table",
        Some("events") => "AWS::Events::EventBus",
        Some("secretsmanager") => "AWS::SecretsManager::Secret",
        Some("s3") => "AWS::S3::Bucket",
        Some("sqs") => "AWS::SQS::Queue",
        _ => "unknown",
    }
}

/// The template's name of the resource of a call; `None` if it is neither this resource nor a part
/// of it.
fn match_resource(name: &str, physical: &str, resource: &str) -> Option<String> {
    if resource == physical {
        return Some(name.to_owned());
    }
    let rest = resource.strip_prefix(physical)?.strip_prefix('/')?;
    let folder = ["media", "derived"].into_iter().find(|it| rest.starts_with(&format!("{it}/")));
    Some(folder.map_or_else(|| format!("{name}/{rest}"), |it| format!("{name}/{it}/*")))
}
