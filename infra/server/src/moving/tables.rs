//! Copies tables, and compares both sides item by item.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use cloud::seal::{DataKeys, Envelope, SealError, Sealer};
use ring::digest::{Context, SHA256, digest};
use storage::{Item, Store, Table, TableSchema};
use zeroize::Zeroizing;

use super::MoveError;

pub(super) struct Side<K> {
    pub(super) store: Store,
    pub(super) sealer: Arc<Envelope<K>>,
}

/// SHA-256 by key. Equal secrets have equal digests on both sides.
type Digests = BTreeMap<String, [u8; 32]>;

/// Without sealed values.
struct Opened {
    item: Item,
    secrets: Vec<Zeroizing<Vec<u8>>>,
    digest: [u8; 32],
}

/// Copies missing items, and compares both sides afterwards. Returns the number of items. An
/// existing item is not replaced: if it differs, the stack has changed it.
pub(super) async fn copy<A: DataKeys, B: DataKeys>(
    schema: &TableSchema,
    from: &Side<A>,
    to: &Side<B>,
    now: DateTime<Utc>,
) -> Result<usize, MoveError> {
    let (before, mut here, mut start) = (to.digests(schema, now).await?, Digests::new(), None);
    loop {
        let page = from.store.item_page(schema.table, start).await?;
        let mut missing = Vec::new();
        for item in page.items.into_iter().filter(|it| is_copied(schema, it, now)) {
            let key = schema.key_of(&item);
            let opened = from.open(schema, item, &key).await?;
            let digest = opened.digest;
            if !before.contains_key(&key) {
                missing.push(to.seal(schema, opened, &key).await?);
            }
            here.insert(key, digest);
        }
        to.store.put_items(schema.table, &missing).await?;
        start = page.next;
        if start.is_none() {
            break;
        }
    }
    compare(schema, &here, &to.digests(schema, now).await?)?;
    Ok(here.len())
}

fn is_copied(schema: &TableSchema, item: &Item, now: DateTime<Utc>) -> bool {
    schema.is_data(item) && !schema.has_expired(item, now)
}

fn compare(schema: &TableSchema, here: &Digests, there: &Digests) -> Result<(), MoveError> {
    let keys: BTreeSet<_> = here.keys().chain(there.keys()).collect();
    let (mut missing, mut different, mut extra, mut example) = (0, 0, 0, None);
    for key in keys {
        match (here.get(key), there.get(key)) {
            (Some(here), Some(there)) if here == there => continue,
            // Requests of guests are counted on the stack as well.
            (_, Some(_)) if schema.table == Table::Limits => continue,
            (Some(_), Some(_)) => different += 1,
            (Some(_), None) => missing += 1,
            (None, _) => extra += 1,
        }
        example.get_or_insert_with(|| key.clone());
    }
    match example {
        None => Ok(()),
        Some(example) => Err(MoveError::Unequal { place: schema.table.as_str(), missing, different, extra, example }),
    }
}

impl<K: DataKeys> Side<K> {
    async fn digests(&self, schema: &TableSchema, now: DateTime<Utc>) -> Result<Digests, MoveError> {
        let (mut digests, mut start) = (Digests::new(), None);
        loop {
            let page = self.store.item_page(schema.table, start).await?;
            for item in page.items.into_iter().filter(|it| is_copied(schema, it, now)) {
                let key = schema.key_of(&item);
                let opened = self.open(schema, item, &key).await?;
                digests.insert(key, opened.digest);
            }
            start = page.next;
            if start.is_none() {
                return Ok(digests);
            }
        }
    }

    async fn open(&self, schema: &TableSchema, mut item: Item, key: &str) -> Result<Opened, MoveError> {
        let mut secrets = Vec::new();
        let failed = |source| MoveError::Seal { what: name(schema, key), source };
        let (context, sealed) = schema.sealed_values(&mut item);
        for value in sealed {
            let context = context.as_ref().ok_or_else(|| failed(SealError::Broken))?;
            let secret = Zeroizing::new(self.sealer.open(value.as_ref(), context).await.map_err(failed)?);
            *value = Blob::new(digest(&SHA256, &secret).as_ref());
            secrets.push(secret);
        }
        let mut hash = Context::new(&SHA256);
        hash_item(&item, &mut hash);
        let mut digest = [0; 32];
        digest.copy_from_slice(hash.finish().as_ref());
        Ok(Opened { item, secrets, digest })
    }

    async fn seal(&self, schema: &TableSchema, opened: Opened, key: &str) -> Result<Item, MoveError> {
        let Opened { mut item, secrets, .. } = opened;
        if let (Some(context), values) = schema.sealed_values(&mut item) {
            for (value, secret) in values.into_iter().zip(secrets) {
                let sealed = self.sealer.seal(&secret, &context).await;
                *value = Blob::new(sealed.map_err(|source| MoveError::Seal { what: name(schema, key), source })?);
            }
        }
        Ok(item)
    }
}

fn name(schema: &TableSchema, key: &str) -> String {
    format!("{} of the table {}", key, schema.table.as_str())
}

fn hash_item(item: &Item, hash: &mut Context) {
    let sorted: BTreeMap<_, _> = item.iter().collect();
    for (name, value) in sorted {
        hash_part(b'#', name.as_bytes(), hash);
        hash_value(value, hash);
    }
}

/// Lengths and kinds are hashed, so that different values have different texts.
fn hash_part(kind: u8, bytes: &[u8], hash: &mut Context) {
    hash.update(&[kind]);
    hash.update(&bytes.len().to_be_bytes());
    hash.update(bytes);
}

fn hash_value(value: &AttributeValue, hash: &mut Context) {
    let sorted = |texts: &[String]| texts.iter().cloned().collect::<BTreeSet<_>>();
    match value {
        AttributeValue::S(text) => hash_part(b'S', text.as_bytes(), hash),
        AttributeValue::N(number) => hash_part(b'N', number.as_bytes(), hash),
        AttributeValue::B(bytes) => hash_part(b'B', bytes.as_ref(), hash),
        AttributeValue::Bool(value) => hash_part(b'?', &[u8::from(*value)], hash),
        AttributeValue::Ss(texts) => sorted(texts).iter().for_each(|it| hash_part(b's', it.as_bytes(), hash)),
        AttributeValue::Ns(numbers) => sorted(numbers).iter().for_each(|it| hash_part(b'n', it.as_bytes(), hash)),
        AttributeValue::L(values) => {
            hash_part(b'L', &values.len().to_be_bytes(), hash);
            for value in values {
                hash_value(value, hash);
            }
        }
        AttributeValue::M(values) => {
            hash_part(b'M', &values.len().to_be_bytes(), hash);
            hash_item(values, hash);
        }
        other => hash_part(b'*', format!("{other:?}").as_bytes(), hash),
    }
}

#[cfg(test)]
mod tests {
    use cloud::seal::{DataKey, LocalKeys};
    use domain::clock::Clock;
    use domain::connect_flow::ConnectFlow;
    use domain::sealing::SealContext;
    use domain::testing::{a_connection, a_user, an_endpoint, noon};
    use domain::user::User;
    use domain::webhook::WebhookSecrets;
    use storage::testing::{a_connect_flow, connect, join, store};
    use storage::{
        EndpointRecord, VaultEntry, VaultKey, connect_flow_context, grant_context, own_secret_context, webhook_context,
    };

    use super::*;

    async fn side(key: u8) -> Side<LocalKeys> {
        Side {
            store: store().await,
            sealer: Envelope::new(LocalKeys::new(DataKey::new([key; 32])), Clock::manual(noon())),
        }
    }

    async fn copy_all(from: &Side<LocalKeys>, to: &Side<LocalKeys>) -> Result<usize, MoveError> {
        let mut items = 0;
        for schema in &Table::ALL {
            items += copy(schema, from, to, noon()).await?;
        }
        Ok(items)
    }

    impl Side<LocalKeys> {
        async fn sealed(&self, text: &str, context: &SealContext) -> Vec<u8> {
            self.sealer.seal(text.as_bytes(), context).await.unwrap()
        }

        async fn unsealed(&self, sealed: &[u8], context: &SealContext) -> String {
            String::from_utf8(self.sealer.open(sealed, context).await.unwrap()).unwrap()
        }
    }

    /// One secret of every kind: "vault", "flow", "grant", "own", "webhook", and "old webhook".
    async fn filled() -> (Side<LocalKeys>, User) {
        let (side, user) = (side(1).await, a_user());
        join(&side.store, &user).await;
        let key = VaultKey::platform("bluesky");
        let sealed = side.sealed("vault", &key.context()).await;
        side.store.put_vault_entry(&key, &VaultEntry { revision: 1, ends_at: None, sealed }).await.unwrap();
        let sealed = Some(side.sealed("flow", &connect_flow_context("hash")).await);
        let flow = ConnectFlow { sealed, ..a_connect_flow(user.user_id, "sandbox", noon()) };
        side.store.begin_connect_flow("hash", &flow).await.unwrap();
        let connection = a_connection(&user);
        let sealed = side.sealed("grant", &grant_context(user.user_id, &connection.account())).await;
        connect(&side.store, &connection, &sealed, None).await;
        let context = own_secret_context(user.user_id, connection.connection_id, "sandbox");
        let own = AttributeValue::B(Blob::new(side.sealed("own", &context).await));
        let mut item = side.store.item_page(Table::Connections, None).await.unwrap().items.remove(0);
        item.insert("own".to_owned(), own);
        side.store.put_items(Table::Connections, &[item]).await.unwrap();
        let endpoint = an_endpoint();
        let context = webhook_context(endpoint.user_id, endpoint.webhook_id);
        let secrets = WebhookSecrets::new(side.sealed("old webhook", &context).await);
        let secrets = secrets.rotated(side.sealed("webhook", &context).await, noon());
        side.store.add_webhook(&EndpointRecord { endpoint, secrets }).await.unwrap();
        (side, user)
    }

    #[tokio::test]
    async fn every_secret_is_encrypted_for_the_other_deployment() {
        let ((from, user), to) = (filled().await, side(2).await);

        let items = copy_all(&from, &to).await.unwrap();

        let key = VaultKey::platform("bluesky");
        let entry = to.store.vault_entry(&key).await.unwrap().unwrap();
        assert_eq!(to.unsealed(&entry.sealed, &key.context()).await, "vault");
        let flow = to.store.connect_flow("hash").await.unwrap().unwrap();
        assert_eq!(to.unsealed(&flow.sealed.unwrap(), &connect_flow_context("hash")).await, "flow");
        let connection = to.store.connections(user.user_id).await.unwrap().remove(0);
        let grant = to.store.credentials(user.user_id, &connection.account()).await.unwrap().unwrap();
        assert_eq!(to.unsealed(&grant.sealed, &grant_context(user.user_id, &connection.account())).await, "grant");
        let own = to.store.connection(user.user_id, connection.connection_id).await.unwrap().unwrap().own.unwrap();
        let context = own_secret_context(user.user_id, connection.connection_id, "sandbox");
        assert_eq!(to.unsealed(&own, &context).await, "own");
        let webhooks = to.store.item_page(Table::Webhooks, None).await.unwrap().items;
        let endpoint = webhooks.iter().find(|it| it.contains_key("secret")).unwrap();
        let number = |name: &str| endpoint[name].as_n().unwrap().parse().unwrap();
        let user = domain::id::UserId::new(number("user_id")).unwrap();
        let webhook = to.store.webhooks(user).await.unwrap().remove(0);
        let context = webhook_context(user, webhook.endpoint.webhook_id);
        assert_eq!(to.unsealed(&webhook.secrets.newest, &context).await, "webhook");
        assert_eq!(to.unsealed(&webhook.secrets.replaced[0].sealed, &context).await, "old webhook");
        assert_eq!(copy_all(&from, &to).await.unwrap(), items, "a repetition finds the same");
    }

    #[tokio::test]
    async fn item_that_only_the_other_side_has_is_found() {
        let ((from, _), to) = (filled().await, side(2).await);
        join(&to.store, &a_user()).await;

        let refused = copy_all(&from, &to).await;

        assert!(matches!(refused, Err(MoveError::Unequal { place: "users", extra: 1, .. })), "{refused:?}");
    }

    #[tokio::test]
    async fn item_that_the_other_side_has_changed_is_not_replaced() {
        let ((from, user), to) = (filled().await, side(2).await);
        copy_all(&from, &to).await.unwrap();
        to.store.rename(user.user_id, "another", "another@example.com").await.unwrap();

        let refused = copy_all(&from, &to).await;

        assert!(matches!(refused, Err(MoveError::Unequal { place: "users", different: 1, .. })), "{refused:?}");
        assert_eq!(to.store.user(user.user_id).await.unwrap().unwrap().name, "another");
    }

    #[tokio::test]
    async fn copy_that_was_cut_off_continues() {
        let ((from, user), to) = (filled().await, side(2).await);
        let users = from.store.item_page(Table::Users, None).await.unwrap().items;
        to.store.put_items(Table::Users, &users).await.unwrap();

        copy_all(&from, &to).await.unwrap();

        assert_eq!(to.store.user(user.user_id).await.unwrap(), Some(user));
    }

    #[tokio::test]
    async fn secret_of_another_key_stops_the_move() {
        let ((from, _), to) = (filled().await, side(2).await);
        let other = Side { store: from.store.clone(), sealer: Arc::clone(&to.sealer) };

        let refused = copy_all(&other, &to).await;

        assert!(matches!(refused, Err(MoveError::Seal { .. })), "{refused:?}");
    }
}
