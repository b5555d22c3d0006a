//! What the page of a post reports above its form.

use api::page::{PageError, PageResult};
use api::{ClientIp, SignedIn};
use domain::validation_errors::ValidationErrors;
use http::StatusCode;
use scheduling::{NotCreated, Warning};

#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// An error if nothing was stored.
    pub(super) status: StatusCode,
    /// The outcome, or why nothing was stored.
    pub(super) notice: Option<Notice>,
    pub(super) errors: ValidationErrors,
    pub(super) warnings: Vec<Warning>,
}

#[derive(Clone, Debug)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) is_bad: bool,
}

impl Report {
    pub(super) fn refused(errors: ValidationErrors) -> Self {
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, errors, ..Self::default() }
    }

    pub(super) fn not_created(session: &SignedIn, address: ClientIp, reason: NotCreated) -> PageResult<Self> {
        Ok(match reason {
            NotCreated::Invalid(errors) => Self::refused(errors),
            NotCreated::NotInPlan(why) => Self::not_in_plan(session, address, &why),
            NotCreated::NoUser => return Err(PageError::signed_out("/sign-in")),
            NotCreated::KeyReused => Self::bad(
                StatusCode::UNPROCESSABLE_ENTITY,
                "This form has created a post already. Look at your posts first. If you press the button again, a second \
                 post is created.",
            ),
        })
    }

    pub(super) fn not_in_plan(session: &SignedIn, address: ClientIp, why: &str) -> Self {
        session.audit_plan_refusal(address, why);
        Self::bad(StatusCode::FORBIDDEN, why)
    }

    pub(super) fn bad(status: StatusCode, text: &str) -> Self {
        Self { status, notice: Some(Notice { text: text.to_owned(), is_bad: true }), ..Self::default() }
    }
}
