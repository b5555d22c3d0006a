//! The alarms, the dashboard, the runbook and the code must agree.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use tests::template::{self, FUNCTIONS, ROOT, Template, function_name};

type Names = BTreeSet<String>;

/// Metrics of the services that the functions use, with the dimensions that we use.
///
/// Sources: the user guides of Lambda ("Types of metrics for Lambda functions"), SQS ("Available
/// `CloudWatch` metrics"), DynamoDB ("Metrics and dimensions") and API Gateway ("Monitor
/// `CloudWatch` metrics for HTTP APIs").
const MEASURED: [(&str, &[&str], &[&str]); 5] = [
    ("AWS/Lambda", &["Invocations", "Errors", "Throttles", "Duration", "ConcurrentExecutions"], &["FunctionName"]),
    (
        "AWS/SQS",
        &[
            "ApproximateNumberOfMessagesVisible",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
            "ApproximateAgeOfOldestMessage",
        ],
        &["QueueName"],
    ),
    ("AWS/ApiGateway", &["Count", "4xx", "5xx", "Latency"], &["ApiId"]),
    ("AWS/DynamoDB", &["ReadThrottleEvents", "WriteThrottleEvents"], &["TableName"]),
    ("AWS/DynamoDB", &["ReadThrottleEvents", "WriteThrottleEvents"], &["TableName", "GlobalSecondaryIndexName"]),
];

/// Every account has ten alarms and a number of dashboard metrics free of charge; each further
/// alarm is 0.10 US dollars a month. Source: the price list of `CloudWatch`.
const ALARMS: usize = 13;
const FREE_METRICS_ON_A_DASHBOARD: usize = 50;

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn runbook() -> String {
    read("docs/runbook.md")
}

/// As in links.
fn sections(runbook: &str) -> Names {
    let headings = runbook.lines().filter(|it| it.starts_with("##"));
    headings.map(|it| it.trim_start_matches('#').trim().to_lowercase().replace(' ', "-")).collect()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    let found = text.split(start).skip(1).filter_map(|it| it.split_once(end));
    found.map(|(it, _)| it).collect()
}

/// With `${…}` unchanged.
fn widgets(template: &Template) -> Vec<Value> {
    let dashboards = template.resources("AWS::CloudWatch::Dashboard");
    let body = dashboards["Dashboard"]["DashboardBody"]["Fn::Sub"].as_str().unwrap();
    let body: Value = serde_json::from_str(body).expect("the dashboard is JSON");
    body["widgets"].as_array().unwrap().clone()
}

/// Namespace, name and dimensions.
fn dashboard_metrics(template: &Template) -> Vec<(String, String, Vec<String>)> {
    let widgets = widgets(template);
    let metrics = widgets.iter().filter_map(|it| it["properties"]["metrics"].as_array()).flatten();
    let metric = |it: &Value| {
        let texts: Vec<_> = it.as_array().unwrap().iter().filter_map(Value::as_str).map(str::to_owned).collect();
        (texts[0].clone(), texts[1].clone(), texts[2..].iter().step_by(2).cloned().collect())
    };
    metrics.map(metric).collect()
}

/// Namespace, name and dimensions.
fn alarm_metrics(template: &Template) -> Vec<(String, String, Vec<String>)> {
    let alarms = template.resources("AWS::CloudWatch::Alarm");
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let metric = |it: &Value| {
        let dimensions = it["Dimensions"].as_array().unwrap().iter().map(|it| text(&it["Name"]));
        (text(&it["Namespace"]), text(&it["MetricName"]), dimensions.collect())
    };
    alarms.into_values().map(metric).collect()
}

#[test]
fn every_alarm_names_an_existing_runbook_section() {
    let sections = sections(&runbook());

    for (name, alarm) in Template::read().unwrap().resources("AWS::CloudWatch::Alarm") {
        let description = alarm["AlarmDescription"].as_str().unwrap();
        let (_, section) = description.split_once("docs/runbook.md#").unwrap_or_else(|| panic!("{name} names none"));
        assert!(sections.contains(section), "{name}: {section}");
    }
}

#[test]
fn runbook_names_existing_sections_widgets_and_messages() {
    let runbook = runbook();
    let sections = sections(&runbook);
    for link in between(&runbook, "](#", ")") {
        assert!(sections.contains(link), "there is no section {link}");
    }

    let template = Template::read().unwrap();
    let titles: Names =
        widgets(&template).iter().map(|it| it["properties"]["title"].as_str().unwrap().to_owned()).collect();
    let text = runbook.replace("**", "").split_whitespace().collect::<Vec<_>>().join(" ");
    for look in between(&text, "- Look: ", "- Do: ") {
        let prose: String = look.split("```").step_by(2).collect();
        for title in prose.split('*').skip(1).step_by(2) {
            assert!(titles.contains(title), "there is no widget {title}");
        }
    }

    let sources: String = ["functions", "libs"].into_iter().flat_map(rust_files).collect();
    let messages: Names = between(&runbook, "message = \"", "\"").into_iter().map(str::to_owned).collect();
    assert!(!messages.is_empty(), "queries ask for messages");
    for message in messages {
        assert!(sources.contains(&format!("\"{message}\"")), "no source logs {message:?}");
    }
}

fn rust_files(folder: &str) -> Vec<String> {
    template::rust_files(folder).unwrap().into_iter().map(read).collect()
}

#[test]
fn alarms_and_dashboard_use_existing_metrics() {
    let template = Template::read().unwrap();
    let metrics = read("libs/cloud/src/metrics.rs");
    let (_, own_metrics_source) = metrics.split_once("const METRICS").unwrap();
    let (own_metrics_source, _) = own_metrics_source.split_once("];").unwrap();
    let own: Names = between(own_metrics_source, "    (\"", "\"").into_iter().map(str::to_owned).collect();

    for (namespace, name, dimensions) in dashboard_metrics(&template).into_iter().chain(alarm_metrics(&template)) {
        let is_measured = if namespace == "SocialPublishing" {
            own.contains(&name) && dimensions == ["stack"]
        } else {
            MEASURED.iter().any(|(space, names, of)| {
                *space == namespace && names.contains(&name.as_str()) && dimensions.iter().eq(of.iter())
            })
        };
        assert!(is_measured, "{namespace} {name} by {dimensions:?}");
    }
    let shown_metrics: Names =
        dashboard_metrics(&template).into_iter().filter(|it| it.0 == "SocialPublishing").map(|it| it.1).collect();
    assert_eq!(shown_metrics, own, "the dashboard shows all that we measure");
}

#[test]
fn dashboard_shows_every_alarm_and_both_stay_within_budget() {
    let template = Template::read().unwrap();
    let alarms = template.resources("AWS::CloudWatch::Alarm");
    assert!(alarms.len() <= ALARMS, "{} alarms", alarms.len());
    let metrics = dashboard_metrics(&template).len();
    assert!(metrics <= FREE_METRICS_ON_A_DASHBOARD, "{metrics} metrics on the dashboard");

    let widgets = widgets(&template);
    let listed = widgets.iter().filter_map(|it| it["properties"]["alarms"].as_array()).flatten();
    let listed: Names = listed.map(|it| it.as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, alarms.keys().map(|it| format!("${{{it}.Arn}}")).collect());
}

#[test]
fn missing_data_alarms_only_for_required_metrics() {
    for (name, alarm) in Template::read().unwrap().resources("AWS::CloudWatch::Alarm") {
        let expected = if alarm["ComparisonOperator"] == "LessThanThreshold" { "breaching" } else { "notBreaching" };
        assert_eq!(alarm["TreatMissingData"], expected, "{name}");
        let expected_actions =
            json!({ "Fn::If": ["HasAlarmEmail", [{ "Ref": "AlarmTopic" }], { "Ref": "AWS::NoValue" }] });
        assert_eq!((&alarm["AlarmActions"], &alarm["OKActions"]), (&expected_actions, &expected_actions), "{name}");
    }
}

#[test]
fn every_function_has_alarms() {
    let template = Template::read().unwrap();
    let alarms = template.resources("AWS::CloudWatch::Alarm");
    let watches = |metric: &str, of: &Value| {
        alarms.values().any(|it| it["MetricName"] == metric && it["Dimensions"][0]["Value"] == *of)
    };
    assert!(watches("5xx", &json!({ "Ref": "Api" })), "what goes wrong in functions that answer requests is a 5xx");

    let integrations = template.resources("AWS::ApiGatewayV2::Integration");
    for folder in FUNCTIONS {
        let function = function_name(folder);
        let responses = integrations.contains_key(function.replace("Function", "Integration").as_str());
        assert!(responses || watches("Errors", &json!({ "Ref": function })), "no alarm watches {folder}");
    }
}

#[test]
fn log_groups_and_retention_match_the_runbook() {
    let template = Template::read().unwrap();
    let groups = template.resources("AWS::Logs::LogGroup");
    for folder in FUNCTIONS {
        let group = template.function(folder)["Properties"]["LoggingConfig"]["LogGroup"]["Ref"].as_str().unwrap();
        let named = json!({ "Fn::Sub": format!("/aws/lambda/${{AWS::StackName}}-{folder}") });
        assert_eq!(groups[group]["LogGroupName"], named, "{folder}");
        assert_eq!(groups[group]["RetentionInDays"], json!({ "Ref": "LogDays" }), "{folder}");
    }
}
