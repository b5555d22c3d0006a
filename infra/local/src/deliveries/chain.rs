//! A delivery's calls in one line: each attempt and its result.

use crate::sandbox::calls::{Call, CallEnd};
use crate::sandbox::operation::Operation;

/// Such as `call 1: accepted, response lost → look-up: found 1 post → public once`.
pub(super) fn chain(calls: &[Call], public: usize) -> String {
    let mut links: Vec<(String, usize)> = Vec::new();
    let mut number = 0;
    for call in calls {
        let link = match call.operation {
            Operation::Publish => {
                number += 1;
                format!("call {number}: {}", publish_outcome(call))
            }
            Operation::LookUp => format!("look-up: {}", look_up_outcome(call)),
            _ => continue,
        };
        match links.last_mut() {
            // Repeated look-ups with the same result are one link.
            Some((last, times)) if *last == link => *times += 1,
            _ => links.push((link, 1)),
        }
    }
    let mut parts: Vec<_> = links
        .into_iter()
        .map(|(link, times)| if times == 1 { link } else { format!("{link} ({times} times)") })
        .collect();
    parts.push(match public {
        0 => "not public".to_owned(),
        1 => "public once".to_owned(),
        many => format!("public {many} times"),
    });
    parts.join(" → ")
}

fn publish_outcome(call: &Call) -> String {
    match (call.made.is_some(), call.how()) {
        (true, Some(CallEnd::Answered { status: 201, .. })) => "accepted".to_owned(),
        (true, Some(CallEnd::Answered { status, .. })) => format!("accepted, but response {status}"),
        (true, Some(CallEnd::Cut)) => "accepted, response lost".to_owned(),
        (true, Some(CallEnd::HungUp)) => "accepted after the timeout".to_owned(),
        (true, Some(CallEnd::Died)) => "accepted, but the process ended".to_owned(),
        (true, None) => "accepted, response pending".to_owned(),
        (false, Some(CallEnd::Answered { status, .. })) => format!("response {status}"),
        (false, Some(CallEnd::Cut)) => "connection cut".to_owned(),
        (false, Some(CallEnd::HungUp)) => "timeout".to_owned(),
        (false, Some(CallEnd::Died)) => "the process ended".to_owned(),
        (false, None) => "in progress".to_owned(),
    }
}

fn look_up_outcome(call: &Call) -> String {
    match call.how() {
        Some(CallEnd::Answered { status: 200, text }) => text.clone(),
        Some(CallEnd::Answered { status, .. }) => format!("response {status}"),
        Some(CallEnd::Cut | CallEnd::HungUp | CallEnd::Died) => "no response".to_owned(),
        None => "in progress".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;
    use crate::sandbox::calls::End;

    fn call(operation: Operation, made: bool, how: CallEnd) -> Call {
        Call {
            number: 1,
            operation,
            at: noon(),
            account: None,
            reference: Some("r".to_owned()),
            fault: None,
            made: made.then(|| "7".to_owned()),
            end: Some(End { at: noon(), how }),
        }
    }

    fn answered(status: u16, text: &str) -> CallEnd {
        CallEnd::Answered { status, text: text.to_owned() }
    }

    #[test]
    fn lost_response_and_its_look_up_are_one_line() {
        let calls = [
            call(Operation::Publish, true, CallEnd::Cut),
            call(Operation::LookUp, false, answered(200, "found 1 post")),
        ];

        let line = chain(&calls, 1);

        assert_eq!(line, "call 1: accepted, response lost → look-up: found 1 post → public once");
    }

    #[test]
    fn repeated_look_ups_are_counted() {
        let look = || call(Operation::LookUp, false, answered(200, "found none"));
        let calls = [
            call(Operation::Publish, false, CallEnd::Cut),
            look(),
            look(),
            look(),
            call(Operation::Publish, true, answered(201, "post 7")),
        ];

        let line = chain(&calls, 1);

        assert_eq!(line, "call 1: connection cut → look-up: found none (3 times) → call 2: accepted → public once");
    }
}
