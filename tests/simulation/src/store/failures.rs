use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;

use crate::faults::FaultProbabilities;
use crate::world::InjectedFault;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreFault {
    Fine,
    Unsent,
    ResponseLost,
    Error,
    /// The store returns an internal error although the request took effect.
    ErrorAfter,
    /// The request is throttled: the partition has no units left.
    Throttled,
    /// The request is throttled by the front end, which returns another error.
    Busy,
    Conflict,
}

impl InjectedFault for StoreFault {
    const FINE: Self = Self::Fine;
    const DOWN: Self = Self::Unsent;

    fn name(self) -> &'static str {
        match self {
            Self::Fine => "",
            Self::Unsent => "not sent",
            Self::ResponseLost => "response lost",
            Self::Error => "error, nothing done",
            Self::ErrorAfter => "error, done",
            Self::Throttled => "throttled",
            Self::Busy => "throttled by the front end",
            Self::Conflict => "conflict",
        }
    }
}

impl StoreFault {
    pub(crate) const fn is_done(self) -> bool {
        matches!(self, Self::Fine | Self::ResponseLost | Self::ErrorAfter)
    }
}

/// The probabilities for a request. Only writes to items that transactions write as well can
/// conflict.
pub(crate) fn chances(probabilities: &FaultProbabilities, may_conflict: bool) -> [(f64, StoreFault); 7] {
    let conflicting = if may_conflict { probabilities.transaction_conflict_probability } else { 0.0 };
    [
        (probabilities.call_failure_probability / 4.0, StoreFault::Unsent),
        (probabilities.call_failure_probability / 4.0, StoreFault::ResponseLost),
        (probabilities.call_failure_probability / 4.0, StoreFault::Error),
        (probabilities.call_failure_probability / 4.0, StoreFault::ErrorAfter),
        (probabilities.store_throttle_probability / 2.0, StoreFault::Throttled),
        (probabilities.store_throttle_probability / 2.0, StoreFault::Busy),
        (conflicting, StoreFault::Conflict),
    ]
}

const MODEL: &str = "com.amazonaws.dynamodb.v20120810";

/// `None` without a failure. `transaction_items` is 0 for a request that is no transaction.
pub(crate) fn respond(fault: StoreFault, transaction_items: usize) -> Option<Result<HttpResponse, ConnectorError>> {
    let broken = |what: &str| ConnectorError::io(what.into());
    Some(match fault {
        StoreFault::Fine => return None,
        StoreFault::Unsent => Err(broken("the connection was refused")),
        StoreFault::ResponseLost => Err(broken("the connection was reset")),
        StoreFault::Error | StoreFault::ErrorAfter => {
            Ok(response(500, format!(r#"{{"__type":"{MODEL}#InternalServerError","message":"internal"}}"#)))
        }
        StoreFault::Throttled => Ok(response(
            400,
            format!(r#"{{"__type":"{MODEL}#ProvisionedThroughputExceededException","message":"too much"}}"#),
        )),
        StoreFault::Busy => Ok(response(
            400,
            r#"{"__type":"com.amazon.coral.availability#ThrottlingException","message":"too much"}"#.to_owned(),
        )),
        StoreFault::Conflict if transaction_items == 0 => Ok(response(
            400,
            format!(r#"{{"__type":"{MODEL}#TransactionConflictException","message":"a transaction is at it"}}"#),
        )),
        StoreFault::Conflict => {
            let mut reasons = vec![r#"{"Code":"None"}"#; transaction_items];
            reasons[0] = r#"{"Code":"TransactionConflict","Message":"a transaction is at it"}"#;
            let reasons = reasons.join(",");
            Ok(response(
                400,
                format!(
                    r#"{{"__type":"{MODEL}#TransactionCanceledException","Message":"cancelled","CancellationReasons":[{reasons}]}}"#
                ),
            ))
        }
    })
}

pub(crate) fn response(status: u16, body: String) -> HttpResponse {
    let mut response = HttpResponse::new(status.try_into().expect("a status"), SdkBody::from(body));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}
