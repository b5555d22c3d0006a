//! Time limits that depend on one another.

use platforms::STEP_LIMIT;
use publishing::BEGIN_WITHIN;
use tests::template::Template;

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
fn whoever_waits_for_other_servers_answers_before_the_function_is_stopped() {
    let template = Template::read().unwrap();
    let function = template.json()["Globals"]["Function"]["Timeout"].as_u64().unwrap();

    assert!(template.function("connections")["Properties"]["Timeout"].is_null(), "it has the time of all");
    assert!(connections::LONGEST.as_secs() + 3 <= function, "{:?} and {function} s", connections::LONGEST);
}
