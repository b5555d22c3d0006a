//! Time limits that depend on each other.

use platforms::STEP_LIMIT;
use publishing::BEGIN_WITHIN;
use tests::template::Template;

#[test]
fn visibility_timeout_is_six_times_the_delivery_timeout() {
    let template = Template::read().unwrap();
    let delivery = template.function("delivery")["Properties"]["Timeout"].as_u64().unwrap();
    let hidden = template.resources("AWS::SQS::Queue")["DeliveryQueue"]["VisibilityTimeout"].as_u64().unwrap();

    assert!(6 * delivery <= hidden, "{delivery} s and {hidden} s");
    assert!(
        delivery < domain::delivery::LEASE_DURATION.num_seconds().unsigned_abs(),
        "a working delivery keeps its lease"
    );
}

#[test]
fn calls_of_a_delivery_end_before_the_function_timeout() {
    let template = Template::read().unwrap();
    let function = template.function("delivery")["Properties"]["Timeout"].as_u64().unwrap();
    let begun = BEGIN_WITHIN.num_seconds().unsigned_abs() + STEP_LIMIT.as_secs();

    assert!(begun + 10 <= function, "{begun} s and {function} s");
    let unclaimed = domain::delivery::CANDIDATE_WAIT.num_seconds().unsigned_abs();
    assert!(
        function < unclaimed,
        "the function that made a post has claimed it or ended: {function} s and {unclaimed} s"
    );
}

#[test]
fn functions_that_call_servers_respond_before_their_timeout() {
    let template = Template::read().unwrap();
    let function = template.json()["Globals"]["Function"]["Timeout"].as_u64().unwrap();

    assert!(template.function("connections")["Properties"]["Timeout"].is_null(), "it has the time of all");
    assert!(
        connecting::CALLBACK_TIMEOUT.as_secs() + 3 <= function,
        "{:?} and {function} s",
        connecting::CALLBACK_TIMEOUT
    );
}

#[test]
fn webhook_lease_outlasts_the_call_and_ends_before_redelivery() {
    let template = Template::read().unwrap();
    let function = template.json()["Globals"]["Function"]["Timeout"].as_u64().unwrap();
    let hidden = template.resources("AWS::SQS::Queue")["WebhookQueue"]["VisibilityTimeout"].as_u64().unwrap();

    assert!(template.function("webhooks")["Properties"]["Timeout"].is_null(), "it has the time of all");
    assert!(6 * function <= hidden, "{function} s and {hidden} s");
    assert!(function < domain::webhook::LEASE.num_seconds().unsigned_abs());
    assert!(domain::webhook::TIME_OUT.num_seconds().unsigned_abs() + 10 <= function);
}

#[test]
fn crashing_file_is_refused_before_its_message_is_dead_lettered() {
    let template = Template::read().unwrap();
    let timeout = template.function("pictures")["Properties"]["Timeout"].as_u64().unwrap();
    let source = &template.function("pictures")["Properties"]["Events"]["Queue"]["Properties"];
    let queue = template.resources("AWS::SQS::Queue")["PicturesQueue"];
    let hidden = queue["VisibilityTimeout"].as_u64().unwrap();
    let comings = queue["RedrivePolicy"]["maxReceiveCount"].as_u64().unwrap();

    assert_eq!(source["BatchSize"], 1, "a file that ends the process takes no other with it");
    assert!(6 * timeout <= hidden, "{timeout} s and {hidden} s");
    assert!(u64::from(pictures::MAX_ENDS) + 1 < comings, "refused at the coming after the last, which may fail once");
}

#[test]
fn derived_files_expire_when_the_bucket_deletes_them() {
    let template = Template::read().unwrap();
    let rules = &template.resources("AWS::S3::Bucket")["MediaBucket"]["LifecycleConfiguration"]["Rules"];
    let rule = rules.as_array().unwrap().iter().find(|it| it["Prefix"] == "derived/").unwrap();

    assert_eq!(rule["Status"], "Enabled");
    assert_eq!(rule["ExpirationInDays"].as_u64().unwrap() * 24 * 3600, local::DERIVED_KEPT.as_secs());
}
