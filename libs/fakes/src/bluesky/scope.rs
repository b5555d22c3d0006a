//! The scopes of a grant.

use std::fmt;

use http::StatusCode;

use super::api_error::ApiError;

/// The scopes of a grant that the server understands.
#[derive(Clone, Debug)]
pub(super) struct Scopes(Vec<(String, Permission)>);

/// The permission of one scope.
#[derive(Clone, Debug)]
enum Permission {
    /// Signing in; allows no calls.
    Sign,
    /// Every call that the fake supports.
    Generic,
    Repo {
        collections: Vec<String>,
        actions: Vec<String>,
    },
    Blob {
        accept: Vec<String>,
    },
    Rpc {
        methods: Vec<String>,
        audience: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Create,
    Update,
    Delete,
}

impl Action {
    const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

impl Scopes {
    /// Drops unknown and duplicate scopes.
    pub(super) fn read(written: &str) -> Self {
        let mut scopes: Vec<(String, Permission)> = Vec::new();
        for scope in written.split(' ') {
            if let Some(permission) = Permission::read(scope)
                && !scopes.iter().any(|(it, _)| it == scope)
            {
                scopes.push((scope.to_owned(), permission));
            }
        }
        Self(scopes)
    }

    pub(super) fn has(&self, scope: &str) -> bool {
        self.0.iter().any(|(it, _)| it == scope)
    }

    /// Checks that this action on records of this collection is allowed.
    pub(super) fn repo(&self, action: Action, collection: &str) -> Result<(), ApiError> {
        self.allow(
            |permission| match permission {
                Permission::Repo { collections, actions } => {
                    has(collections, collection) && actions.iter().any(|it| it == action.name())
                }
                _ => false,
            },
            || format!("repo:{collection}?action={}", action.name()),
        )
    }

    /// Checks that files of this type may be uploaded.
    pub(super) fn blob(&self, mime_type: &str) -> Result<(), ApiError> {
        self.allow(
            |permission| match permission {
                Permission::Blob { accept } => accept.iter().any(|it| accepts(it, mime_type)),
                _ => false,
            },
            || format!("blob:{mime_type}"),
        )
    }

    /// Checks that this method of this service may be called for the account.
    pub(super) fn rpc(&self, method: &str, audience: &str) -> Result<(), ApiError> {
        self.allow(
            |permission| match permission {
                Permission::Rpc { methods, audience: allowed } => {
                    has(methods, method) && (allowed == "*" || allowed == audience)
                }
                _ => false,
            },
            || format!("rpc:{method}?aud={audience}"),
        )
    }

    fn allow(&self, allows: impl Fn(&Permission) -> bool, needed: impl Fn() -> String) -> Result<(), ApiError> {
        if self.0.iter().any(|(_, it)| matches!(it, Permission::Generic) || allows(it)) {
            return Ok(());
        }
        let message = format!("Missing required scope \"{}\"", needed());
        Err(ApiError::xrpc(StatusCode::FORBIDDEN, "ScopeMissingError", message))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scopes: Vec<&str> = self.0.iter().map(|(it, _)| it.as_str()).collect();
        f.write_str(&scopes.join(" "))
    }
}

impl Permission {
    /// Parses `kind:value?name=value&…`; the value after the colon belongs to a
    /// parameter that depends on the kind. Source: atproto.com/specs/permission.
    fn read(scope: &str) -> Option<Self> {
        match scope {
            "atproto" | "transition:email" | "transition:chat.bsky" => return Some(Self::Sign),
            "transition:generic" => return Some(Self::Generic),
            _ => {}
        }
        let (head, query) = scope.split_once('?').unwrap_or((scope, ""));
        let (kind, value) = head.split_once(':').map_or((head, None), |(kind, value)| (kind, Some(value)));
        let of_value = match kind {
            "repo" => "collection",
            "blob" => "accept",
            "rpc" => "lxm",
            _ => return None,
        };
        // A plus is part of types such as image/svg+xml, never a space.
        let query = query.replace('+', "%2B");
        let mut named: Vec<(String, String)> =
            value.map(|it| (of_value.to_owned(), it.to_owned())).into_iter().collect();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            named.push((name.into_owned(), value.into_owned()));
        }
        let known: &[&str] = match kind {
            "repo" => &["collection", "action"],
            "blob" => &["accept"],
            _ => &["lxm", "aud"],
        };
        if named.iter().any(|(name, value)| !known.contains(&name.as_str()) || value.is_empty()) {
            return None;
        }
        let all = |name: &str| -> Vec<String> {
            named.iter().filter(|(it, _)| it == name).map(|(_, value)| value.clone()).collect()
        };
        match kind {
            "repo" => Self::repo(all("collection"), all("action")),
            "blob" => Some(Self::Blob { accept: non_empty(all("accept"))? }),
            _ => Self::rpc(all("lxm"), &all("aud")),
        }
    }

    fn repo(collections: Vec<String>, mut actions: Vec<String>) -> Option<Self> {
        let known = ["create", "update", "delete"];
        if actions.is_empty() {
            actions = known.map(str::to_owned).to_vec();
        }
        let understood = actions.iter().all(|it| known.contains(&it.as_str()));
        understood.then_some(Self::Repo { collections: non_empty(collections)?, actions })
    }

    /// The audience is `*` or a service of a DID. A bare DID, and every method for every
    /// audience, are invalid.
    fn rpc(methods: Vec<String>, audience: &[String]) -> Option<Self> {
        let [audience] = audience else { return None };
        let fits = audience == "*" || (audience.starts_with("did:") && audience.contains('#'));
        let everything = audience == "*" && methods.iter().any(|it| it == "*");
        (fits && !everything).then_some(Self::Rpc { methods: non_empty(methods)?, audience: audience.clone() })
    }
}

fn non_empty(list: Vec<String>) -> Option<Vec<String>> {
    (!list.is_empty()).then_some(list)
}

fn has(list: &[String], one: &str) -> bool {
    list.iter().any(|it| it == "*" || it == one)
}

/// Whether a pattern like `image/*` covers a type.
pub(super) fn accepts(pattern: &str, mime_type: &str) -> bool {
    match pattern.strip_suffix("/*") {
        Some("*") => true,
        Some(kind) => mime_type.strip_prefix(kind).is_some_and(|rest| rest.starts_with('/')),
        None => pattern == mime_type,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_covers_only_what_it_names() {
        let scopes = Scopes::read("atproto repo:app.bsky.feed.post?action=create blob:image/* rpc:a.b.c?aud=*");

        assert!(scopes.repo(Action::Create, "app.bsky.feed.post").is_ok());
        assert!(scopes.repo(Action::Update, "app.bsky.feed.post").is_err());
        assert!(scopes.repo(Action::Create, "app.bsky.feed.like").is_err());
        assert!(scopes.blob("image/png").is_ok());
        assert!(scopes.blob("video/mp4").is_err());
        assert!(scopes.rpc("a.b.c", "did:web:x").is_ok());
        assert!(scopes.rpc("a.b.d", "did:web:x").is_err());
    }

    #[test]
    fn invalid_scopes_are_ignored() {
        let written = "atproto rpc:a.b.c?aud=did:web:x rpc:*?aud=* repo:x?action=burn nonsense repo:x atproto";

        assert_eq!(Scopes::read(written).to_string(), "atproto repo:x");
    }
}
