use chrono::{DateTime, TimeDelta, Utc};
use secrecy::{ExposeSecret, SecretString};

use crate::id::UserId;
use crate::token::{hash, random_bytes};

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// An access token: `sp_`, its owner's id, 256 random bits and a checksum, 64 characters in all.
///
/// With the id, the owner can be read and the request counted in the same round trip as the token
/// itself. The id proves nothing, because anybody can write any id into an invented token.
#[derive(Clone, Debug)]
pub struct AccessToken {
    text: SecretString,
    claimed: UserId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLifetime {
    /// Validity after the last use, for tokens of the device flow.
    pub unused: TimeDelta,
    /// Validity after creation, regardless of use, so that a token which was stolen unnoticed
    /// expires eventually.
    pub at_most: TimeDelta,
}

impl Default for TokenLifetime {
    fn default() -> Self {
        Self { unused: TimeDelta::days(180), at_most: TimeDelta::days(400) }
    }
}

impl TokenLifetime {
    /// Validity after the last use, for tokens of the authorization code flow: they are held by a
    /// server that the user does not know.
    const UNUSED_BY_CLIENT: TimeDelta = TimeDelta::days(90);

    #[must_use]
    pub fn for_client(self) -> Self {
        Self { unused: Self::UNUSED_BY_CLIENT, ..self }
    }

    pub fn ends(self, created_at: DateTime<Utc>, used_at: DateTime<Utc>) -> DateTime<Utc> {
        (used_at + self.unused).min(created_at + self.at_most)
    }
}

const PREFIX: &str = "sp_";
const OWNER_LEN: usize = 11;
const RANDOM_LEN: usize = 44;
const CHECK_LEN: usize = 6;

impl AccessToken {
    pub fn mint(owner: UserId) -> Self {
        let mut body = String::from(PREFIX);
        body.push_str(&base62(u128::from(owner.get()), OWNER_LEN));
        // Two halves of 128 bits, each of which takes 22 digits.
        for _ in 0..2 {
            body.push_str(&base62(u128::from_le_bytes(random_bytes()), RANDOM_LEN / 2));
        }
        let check = base62(u128::from(crc32fast::hash(body.as_bytes())), CHECK_LEN);
        body.push_str(&check);
        Self { text: body.into(), claimed: owner }
    }

    /// Parses a token; `None` when its form or checksum is wrong, which needs no look-up in the
    /// store.
    pub fn parse(text: &str) -> Option<Self> {
        let expected = PREFIX.len() + OWNER_LEN + RANDOM_LEN + CHECK_LEN;
        if text.len() != expected || !text.is_ascii() || !text.starts_with(PREFIX) {
            return None;
        }
        let (body, check) = text.split_at(text.len() - CHECK_LEN);
        if check != base62(u128::from(crc32fast::hash(body.as_bytes())), CHECK_LEN) {
            return None;
        }
        let claimed = UserId::new(from_base62(&body[PREFIX.len()..PREFIX.len() + OWNER_LEN])?)?;
        Some(Self { text: text.into(), claimed })
    }

    pub fn claimed_owner(&self) -> UserId {
        self.claimed
    }

    pub fn hash(&self) -> String {
        hash(self.text.expose_secret())
    }

    pub fn secret(&self) -> &SecretString {
        &self.text
    }
}

fn base62(mut number: u128, len: usize) -> String {
    let mut digits = vec![DIGITS[0]; len];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    digits.into_iter().map(char::from).collect()
}

fn from_base62(text: &str) -> Option<u64> {
    text.bytes().try_fold(0_u64, |number, byte| {
        let digit = DIGITS.iter().position(|it| *it == byte)?;
        number.checked_mul(62)?.checked_add(digit as u64)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::noon;

    #[test]
    fn minted_token_parses_back_with_its_owner() {
        for owner in [1, 373_455_828_625_580, (1 << 53) - 1] {
            let owner = UserId::new(owner).unwrap();
            let minted = AccessToken::mint(owner);
            let read = AccessToken::parse(minted.secret().expose_secret()).unwrap();
            assert_eq!(read.claimed_owner(), owner);
            assert_eq!((read.hash(), minted.secret().expose_secret().len()), (minted.hash(), 64));
        }
    }

    #[test]
    fn daily_used_token_still_expires_after_400_days() {
        let (lifetime, made) = (TokenLifetime::default(), noon());
        let day = |day| made + TimeDelta::days(day);

        assert_eq!(lifetime.ends(made, made), day(180));
        assert_eq!(lifetime.ends(made, day(100)), day(280));
        assert_eq!(lifetime.ends(made, day(399)), day(400));
        assert_eq!(lifetime.for_client().ends(made, made), day(90));
        assert_eq!(lifetime.for_client().ends(made, day(399)), day(400));
    }

    #[test]
    fn token_with_one_changed_letter_is_refused() {
        let minted = AccessToken::mint(UserId::new(7).unwrap());
        let text = minted.secret().expose_secret();
        for position in 3..text.len() {
            let mut wrong = text.to_owned().into_bytes();
            wrong[position] = if wrong[position] == b'a' { b'b' } else { b'a' };
            assert!(AccessToken::parse(std::str::from_utf8(&wrong).unwrap()).is_none(), "{position}");
        }
    }

    #[test]
    fn debug_output_does_not_show_the_token() {
        let minted = AccessToken::mint(UserId::new(7).unwrap());
        assert!(!format!("{minted:?}").contains(&minted.secret().expose_secret()[14..]));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".{0,80}") {
            let _ = AccessToken::parse(&text);
        }
    }
}
