//! How many further accounts a user's plan allows, and the messages about those that it does not.

use std::collections::HashMap;

use domain::connection::Connection;
use domain::id::UserId;
use platforms::Account;
use storage::ConnectionRecord;

use crate::{ConnectFlows, ConnectingError};

#[derive(Clone, Copy)]
pub(crate) struct PlanLimit {
    pub(crate) max: u32,
    pub(crate) left: usize,
}

impl PlanLimit {
    pub(crate) fn reached_message(self) -> String {
        format!("Your plan allows {} connected accounts (max_connections). Disconnect one first.", self.max)
    }
}

impl ConnectFlows {
    /// `None` when the plan allows another account.
    ///
    /// Reconnecting an account does not count. Which account the user will choose is not known at
    /// the start, so a flow may start when any account on the platform `renewing` needs to be
    /// reconnected.
    pub(crate) async fn plan_limit_reached(
        &self,
        user: UserId,
        platform: &str,
    ) -> Result<Option<String>, ConnectingError> {
        let Some((limit, connections)) = self.plan_limit_and_connections(user).await? else { return Ok(None) };
        let is_reconnection = connections.iter().any(|it| it.needs_reconnection && it.provider == platform);
        Ok((limit.left == 0 && !is_reconnection).then(|| limit.reached_message()))
    }

    /// `None` when the plan has no limit.
    pub(crate) async fn plan_limit(&self, user: UserId) -> Result<Option<PlanLimit>, ConnectingError> {
        Ok(self.plan_limit_and_connections(user).await?.map(|it| it.0))
    }

    async fn plan_limit_and_connections(
        &self,
        user: UserId,
    ) -> Result<Option<(PlanLimit, Vec<Connection>)>, ConnectingError> {
        let store = &self.store;
        let found = store.user(user).await?;
        let plan = self.plans.named(found.as_ref().and_then(|it| it.plan.as_deref()));
        let Some(max) = plan.max_connections else { return Ok(None) };
        let connections = store.connections(user).await?;
        let left = usize::try_from(max).unwrap_or(usize::MAX).saturating_sub(connections.len());
        Ok(Some((PlanLimit { max, left }, connections)))
    }
}

/// Splits the accounts, in their order, into those that can be connected and those beyond the
/// plan's limit. Accounts that are already connected do not count.
pub(crate) fn fit_plan<'a>(
    accounts: &'a [Account],
    found: &HashMap<String, ConnectionRecord>,
    limit: Option<PlanLimit>,
) -> (Vec<&'a Account>, Vec<&'a Account>) {
    let mut left = limit.map_or(usize::MAX, |it| it.left);
    accounts.iter().partition(|it| {
        if found.contains_key(&it.profile.account_id) {
            return true;
        }
        let fits = left != 0;
        left = left.saturating_sub(1);
        fits
    })
}

pub(crate) fn over_plan_message(left_out: &[&Account], limit: PlanLimit) -> Option<String> {
    let (first, others) = left_out.split_first()?;
    if others.is_empty() && limit.left == 0 {
        return Some(limit.reached_message());
    }
    let names =
        others.iter().fold(first.profile.shown_name(), |names, it| format!("{names}, {}", it.profile.shown_name()));
    Some(format!("Your plan allows {} connected accounts (max_connections). Not connected: {names}.", limit.max))
}
