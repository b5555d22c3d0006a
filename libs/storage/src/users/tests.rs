use domain::testing::a_user;

use super::*;
use crate::testing::store;

fn identity(subject: &str) -> Identity {
    Identity { issuer: "https://issuer.example".to_owned(), subject: subject.to_owned() }
}

#[tokio::test]
async fn concurrent_first_sign_ins_create_one_user() {
    let store = store().await;
    let (one, two) = (a_user(), User { user_id: UserId::new(7).unwrap(), ..a_user() });
    let identity = identity("1");

    let joined = futures::join!(store.join(&identity, &one), store.join(&identity, &two));

    let joined = [joined.0.unwrap(), joined.1.unwrap()];
    assert_eq!(joined.iter().filter(|it| **it == CreateUserOutcome::Ours).count(), 1, "{joined:?}");
    let (winner, loser) = if joined[0] == CreateUserOutcome::Ours { (one, two) } else { (two, one) };
    assert_eq!(store.user_of(&identity).await.unwrap(), Some(winner.user_id));
    assert_eq!(store.user(winner.user_id).await.unwrap(), Some(winner));
    assert_eq!(store.user(loser.user_id).await.unwrap(), None);
}

#[tokio::test]
async fn user_has_the_latest_name_and_email_of_the_issuer() {
    let store = store().await;
    let user = a_user();
    store.join(&identity("1"), &user).await.unwrap();

    store.rename(user.user_id, "New Name", "new@example.com").await.unwrap();

    let found = store.user(user.user_id).await.unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.email.as_str()), ("New Name", "new@example.com"));
}

#[tokio::test]
async fn unknown_identity_has_no_user() {
    let store = store().await;

    assert_eq!(store.user_of(&identity("2")).await.unwrap(), None);
}
