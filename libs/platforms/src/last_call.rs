//! How the last call of a step ended, for the record of the attempt. The error of a step has only
//! what the protocol and the user need.

use std::cell::Cell;

use domain::attempt::{CallResult, ErrorKind};
use http::StatusCode;

tokio::task_local! {
    /// Adapters spawn no tasks, so all calls of a step are in its task.
    static LAST_CALL: Cell<CallResult>;
}

pub async fn with_last_call<T>(step: impl Future<Output = T>) -> (T, CallResult) {
    let step = async {
        let ended = step.await;
        (ended, LAST_CALL.with(Cell::get))
    };
    LAST_CALL.scope(Cell::default(), step).await
}

/// Does nothing outside of a step.
pub(crate) fn record_response(status: Option<StatusCode>) {
    let call = CallResult { http_status: status.map(|it| it.as_u16()), error_kind: None };
    let _ = LAST_CALL.try_with(|it| it.set(call));
}

/// Records why a call failed, with the status that its error has. An adapter may have made other
/// calls since.
pub(crate) fn record_error(kind: ErrorKind, status: Option<StatusCode>) {
    let _ = LAST_CALL.try_with(|it| {
        // The error of a success that cannot be read has no status.
        let of_last = it.get().http_status.filter(|_| kind == ErrorKind::NoResponse);
        it.set(CallResult { http_status: status.map(|it| it.as_u16()).or(of_last), error_kind: Some(kind) });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_last_call_of_a_step_is_returned() {
        let step = async {
            record_response(Some(StatusCode::NOT_FOUND));
            record_error(ErrorKind::InvalidPost, Some(StatusCode::NOT_FOUND));
            let (of_another_host, preview) =
                with_last_call(async { record_response(Some(StatusCode::IM_A_TEAPOT)) }).await;
            record_response(Some(StatusCode::CREATED));
            (of_another_host, preview.http_status)
        };

        let (((), of_another_host), call) = with_last_call(step).await;

        assert_eq!(of_another_host, Some(418));
        assert_eq!(call, CallResult { http_status: Some(201), error_kind: None });
    }

    #[tokio::test]
    async fn call_without_a_response_has_no_status_of_an_earlier_one() {
        let step = async {
            record_response(Some(StatusCode::OK));
            record_response(None);
            record_error(ErrorKind::NoResponse, None);
        };

        let ((), call) = with_last_call(step).await;

        assert_eq!(call, CallResult { http_status: None, error_kind: Some(ErrorKind::NoResponse) });
    }

    #[tokio::test]
    async fn error_has_its_own_status() {
        let error = |kind, status| async move {
            record_response(Some(StatusCode::OK));
            record_error(kind, status);
        };

        let ((), refused) = with_last_call(error(ErrorKind::InvalidPost, Some(StatusCode::BAD_REQUEST))).await;
        let ((), unsent) = with_last_call(error(ErrorKind::NotSent, None)).await;
        let ((), unreadable) = with_last_call(error(ErrorKind::NoResponse, None)).await;

        assert_eq!([refused, unsent, unreadable].map(|it| it.http_status), [Some(400), None, Some(200)]);
    }
}
