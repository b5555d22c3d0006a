//! How the store fails, on the wire.

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;

use crate::faults::FaultProbabilities;
use crate::world::InjectedFault;

/// What becomes of a request to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreFate {
    Fine,
    /// The connection breaks before the request has arrived.
    Unsent,
    /// The connection breaks before the answer has arrived.
    AnswerLost,
    /// The store answers with an error of its own, and did nothing.
    Error,
    /// The store answers with an error of its own although it did what was
    /// asked.
    ErrorAfter,
    /// The request is throttled: the partition has no units left.
    Throttled,
    /// The request is throttled by the front end, which words that differently.
    Busy,
    /// Another transaction is writing the item.
    Conflict,
}

impl InjectedFault for StoreFate {
    const FINE: Self = Self::Fine;
    const DOWN: Self = Self::Unsent;

    fn name(self) -> &'static str {
        match self {
            Self::Fine => "",
            Self::Unsent => "not sent",
            Self::AnswerLost => "answer lost",
            Self::Error => "error, nothing done",
            Self::ErrorAfter => "error, done",
            Self::Throttled => "throttled",
            Self::Busy => "throttled by the front end",
            Self::Conflict => "conflict",
        }
    }
}

impl StoreFate {
    /// Whether the request takes effect, whatever its caller hears.
    pub(crate) const fn is_done(self) -> bool {
        matches!(self, Self::Fine | Self::AnswerLost | Self::ErrorAfter)
    }
}

/// The chances for a request. Only writes to items that transactions write as
/// well can conflict.
pub(crate) fn chances(weather: &FaultProbabilities, contended: bool) -> [(f64, StoreFate); 7] {
    let conflicting = if contended { weather.conflicting } else { 0.0 };
    [
        (weather.failing / 4.0, StoreFate::Unsent),
        (weather.failing / 4.0, StoreFate::AnswerLost),
        (weather.failing / 4.0, StoreFate::Error),
        (weather.failing / 4.0, StoreFate::ErrorAfter),
        (weather.throttled / 2.0, StoreFate::Throttled),
        (weather.throttled / 2.0, StoreFate::Busy),
        (conflicting, StoreFate::Conflict),
    ]
}

const MODEL: &str = "com.amazonaws.dynamodb.v20120810";

/// The answer to a request that failed; `None` for one that did not.
/// `transaction_items` is 0 for a request that is no transaction.
pub(crate) fn answer(fate: StoreFate, transaction_items: usize) -> Option<Result<HttpResponse, ConnectorError>> {
    let broken = |what: &str| ConnectorError::io(what.into());
    Some(match fate {
        StoreFate::Fine => return None,
        StoreFate::Unsent => Err(broken("the connection was refused")),
        StoreFate::AnswerLost => Err(broken("the connection was reset")),
        StoreFate::Error | StoreFate::ErrorAfter => {
            Ok(response(500, format!(r#"{{"__type":"{MODEL}#InternalServerError","message":"internal"}}"#)))
        }
        StoreFate::Throttled => Ok(response(
            400,
            format!(r#"{{"__type":"{MODEL}#ProvisionedThroughputExceededException","message":"too much"}}"#),
        )),
        StoreFate::Busy => Ok(response(
            400,
            r#"{"__type":"com.amazon.coral.availability#ThrottlingException","message":"too much"}"#.to_owned(),
        )),
        StoreFate::Conflict if transaction_items == 0 => Ok(response(
            400,
            format!(r#"{{"__type":"{MODEL}#TransactionConflictException","message":"a transaction is at it"}}"#),
        )),
        StoreFate::Conflict => {
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

/// An answer on the wire.
pub(crate) fn response(status: u16, body: String) -> HttpResponse {
    let mut response = HttpResponse::new(status.try_into().expect("a status"), SdkBody::from(body));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}
