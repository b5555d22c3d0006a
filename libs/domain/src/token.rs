//! Random tokens, the one place where randomness comes from, and their hashes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

/// Fills an array with random bytes.
///
/// # Panics
/// When the operating system has no randomness to give: nothing safe can be
/// done without it.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[cfg(any(test, feature = "testing"))]
    if crate::seeded::fill_seeded(&mut bytes) {
        return bytes;
    }
    #[expect(clippy::expect_used, reason = "no token may be made without randomness")]
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// A random number, for jitter and the tail of an id.
pub fn random_u32() -> u32 {
    u32::from_le_bytes(random_bytes())
}

/// A random number so large that no two draws are the same.
pub fn random_u64() -> u64 {
    u64::from_le_bytes(random_bytes())
}

/// 256 random bits, in letters that are safe in URLs.
pub fn random_token() -> SecretString {
    URL_SAFE_NO_PAD.encode(random_bytes::<32>()).into()
}

/// The SHA-256 of a token in URL-safe base64: what the store keeps instead of it.
pub fn hash(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token.as_bytes()))
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// An access token: `sp_`, the owner's rate-limit bucket, 256 random bits and
/// a checksum, 64 characters in all.
///
/// The bucket is a random number of the user. It lets a request be counted
/// while its token is still being looked up, and unlike the user's id it cannot
/// be guessed, so nobody can use up the requests of somebody else.
#[derive(Clone, Debug)]
pub struct AccessToken {
    text: SecretString,
    bucket: Bucket,
}

/// The name under which a user's requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Bucket(u64);

impl Bucket {
    /// A bucket nobody has.
    pub fn random() -> Self {
        Self(u64::from_le_bytes(random_bytes()) >> 1)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

const PREFIX: &str = "sp_";
const BUCKET_LEN: usize = 11;
const RANDOM_LEN: usize = 44;
const CHECK_LEN: usize = 6;

impl AccessToken {
    /// A new token for the owner of this bucket.
    pub fn mint(bucket: Bucket) -> Self {
        let mut body = String::from(PREFIX);
        body.push_str(&base62(u128::from(bucket.0), BUCKET_LEN));
        // Two halves of 128 bits, each of which takes 22 digits.
        for _ in 0..2 {
            body.push_str(&base62(u128::from_le_bytes(random_bytes()), RANDOM_LEN / 2));
        }
        let check = base62(u128::from(crc32fast::hash(body.as_bytes())), CHECK_LEN);
        body.push_str(&check);
        Self { text: body.into(), bucket }
    }

    /// Reads a token from a request; `None` when its form or checksum is wrong,
    /// which is known without asking the store.
    pub fn parse(text: &str) -> Option<Self> {
        let expected = PREFIX.len() + BUCKET_LEN + RANDOM_LEN + CHECK_LEN;
        if text.len() != expected || !text.is_ascii() || !text.starts_with(PREFIX) {
            return None;
        }
        let (body, check) = text.split_at(text.len() - CHECK_LEN);
        if check != base62(u128::from(crc32fast::hash(body.as_bytes())), CHECK_LEN) {
            return None;
        }
        let bucket = from_base62(&body[PREFIX.len()..PREFIX.len() + BUCKET_LEN])?;
        Some(Self { text: text.into(), bucket: Bucket(bucket) })
    }

    /// Whom the request is counted for.
    pub fn bucket(&self) -> Bucket {
        self.bucket
    }

    /// The key under which the store knows it.
    pub fn hash(&self) -> String {
        hash(self.text.expose_secret())
    }

    /// The token itself, to be shown once.
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

/// The code a person types: 8 letters without vowels or look-alikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCode(String);

const CODE_LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

impl UserCode {
    /// A random code.
    pub fn random() -> Self {
        let letters = std::iter::from_fn(|| Some(random_bytes::<1>()[0]))
            // 240 is the largest multiple of 20 in a byte: every letter is equally likely.
            .filter(|it| *it < 240)
            .take(8)
            .map(|it| char::from(CODE_LETTERS[usize::from(it % 20)]))
            .collect();
        Self(letters)
    }

    /// Reads what a person typed, in any case, with or without the dash and
    /// spaces around it.
    pub fn parse(typed: &str) -> Option<Self> {
        let letters: String = typed.trim().chars().filter(|it| *it != '-').map(|it| it.to_ascii_uppercase()).collect();
        let well_formed = letters.len() == 8 && letters.bytes().all(|it| CODE_LETTERS.contains(&it));
        well_formed.then_some(Self(letters))
    }

    /// The key under which the store knows it.
    pub fn hash(&self) -> String {
        hash(&self.0)
    }
}

impl std::fmt::Display for UserCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", &self.0[..4], &self.0[4..])
    }
}

/// A PKCE pair: the verifier we keep and the S256 challenge we send (RFC 7636).
pub struct Pkce {
    /// Kept until the code is exchanged.
    pub verifier: SecretString,
    /// Sent with the authorization request.
    pub challenge: String,
}

impl Pkce {
    /// A random pair.
    pub fn random() -> Self {
        let verifier = random_token();
        let challenge = hash(verifier.expose_secret());
        Self { verifier, challenge }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::seeded::seed_randomness;

    #[test]
    fn a_token_reads_back_with_its_bucket() {
        let bucket = Bucket::random();
        let minted = AccessToken::mint(bucket);
        let read = AccessToken::parse(minted.secret().expose_secret()).unwrap();
        assert_eq!(read.bucket(), bucket);
        assert_eq!(read.hash(), minted.hash());
    }

    #[test]
    fn a_token_with_one_letter_changed_is_refused() {
        let minted = AccessToken::mint(Bucket::random());
        let text = minted.secret().expose_secret();
        for position in 3..text.len() {
            let mut wrong = text.to_owned().into_bytes();
            wrong[position] = if wrong[position] == b'a' { b'b' } else { b'a' };
            assert!(AccessToken::parse(std::str::from_utf8(&wrong).unwrap()).is_none(), "{position}");
        }
    }

    #[test]
    fn a_token_does_not_print_itself() {
        let minted = AccessToken::mint(Bucket::random());
        assert!(!format!("{minted:?}").contains(&minted.secret().expose_secret()[14..]));
    }

    #[test]
    fn a_user_code_is_read_as_people_type_it() {
        let code = UserCode::parse("WDJB-MJHT").unwrap();
        assert_eq!(code.to_string(), "WDJB-MJHT");
        assert_eq!(UserCode::parse(" wdjbmjht "), Some(code));
        assert_eq!(UserCode::parse("AAAA-AAAA"), None);
        assert_eq!(UserCode::parse("WDJB-MJH"), None);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".{0,80}") {
            let _ = AccessToken::parse(&text);
            let _ = UserCode::parse(&text);
        }
    }

    #[test]
    fn seeded_randomness_repeats_itself_until_it_is_given_up() {
        let draw = || (random_u32(), random_bytes::<19>());

        seed_randomness(7);
        let first = [draw(), draw()];
        seed_randomness(7);
        let again = [draw(), draw()];
        seed_randomness(8);
        let other = draw();
        seed_randomness(None);
        let unseeded = draw();

        assert_eq!(first, again);
        assert_ne!(first[0], first[1]);
        assert_ne!(first[0], other);
        assert!(!first.contains(&unseeded));
    }
}
