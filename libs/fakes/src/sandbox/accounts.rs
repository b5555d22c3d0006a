//! The six accounts of the sandbox. The user may sign in to any of them.

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::pages::{self, NO_SCRIPT};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "&'static str")]
pub(crate) struct Account(&'static Profile);

#[derive(Debug, PartialEq, Eq)]
struct Profile {
    id: &'static str,
    handle: &'static str,
    name: &'static str,
    about: &'static str,
    color: &'static str,
    /// Shapes on a field of 64 × 64.
    drawing: &'static str,
}

static PROFILES: [Profile; 6] = [
    Profile {
        id: "101",
        handle: "harbour",
        name: "The Harbour",
        about: "Arrivals, departures and the tide in between.",
        color: "#1d6fa5",
        drawing: r##"<path d="M14 40h36l-6 10H20z" fill="#fff"/><path d="M31 12v24H17z" fill="#cfe8f7"/><path d="M34 18v18h13z" fill="#fff"/>"##,
    },
    Profile {
        id: "102",
        handle: "lighthouse",
        name: "Lighthouse",
        about: "A light, every ten seconds.",
        color: "#b3402e",
        drawing: r##"<path d="M27 22h10l4 32H23z" fill="#fff"/><path d="M25.9 34h12.2l1 8H24.9z" fill="#b3402e"/><path d="M26 13h12v7H26z" fill="#ffe08a"/><path d="M41 15l14-5v13zM23 15L9 10v13z" fill="#ffe08a" opacity=".7"/>"##,
    },
    Profile {
        id: "103",
        handle: "meadow",
        name: "Meadow",
        about: "What grows, what flies, what hums.",
        color: "#3f7d3a",
        drawing: r##"<path d="M31 34h2v18h-2z" fill="#cdebb0"/><g fill="#fff"><circle cx="32" cy="17" r="6"/><circle cx="32" cy="33" r="6"/><circle cx="24" cy="25" r="6"/><circle cx="40" cy="25" r="6"/></g><circle cx="32" cy="25" r="5" fill="#ffd24a"/>"##,
    },
    Profile {
        id: "104",
        handle: "windmill",
        name: "Windmill",
        about: "Turning since the wind was invented.",
        color: "#6a4c93",
        drawing: r##"<path d="M27 30h10l4 24H23z" fill="#fff"/><g stroke="#e3d4f7" stroke-width="4" stroke-linecap="round"><path d="M32 28L18 14M32 28l14-14M32 28L18 42M32 28l14 14"/></g><circle cx="32" cy="28" r="4" fill="#ffd24a"/>"##,
    },
    Profile {
        id: "105",
        handle: "orchard",
        name: "Orchard",
        about: "Blossom first, then patience, then apples.",
        color: "#8a5a2b",
        drawing: r##"<path d="M29 36h6v18h-6z" fill="#e8d3b5"/><circle cx="32" cy="24" r="15" fill="#9cc97a"/><g fill="#e2574c"><circle cx="25" cy="21" r="3"/><circle cx="37" cy="18" r="3"/><circle cx="34" cy="30" r="3"/></g>"##,
    },
    Profile {
        id: "106",
        handle: "ferry",
        name: "The Ferry",
        about: "Across and back, in any weather.",
        color: "#2f6b6b",
        drawing: r##"<path d="M10 38h44l-6 12H16z" fill="#fff"/><path d="M18 26h26v10H18z" fill="#d4ecec"/><path d="M36 14h5v10h-5z" fill="#ffd24a"/>"##,
    },
];

/// Every account has these: id and name.
pub(super) const BOARDS: [(&str, &str); 3] =
    [("notices", "Notices"), ("tides", "Tides and weather"), ("lost", "Lost and found")];

impl Account {
    /// In the order of the consent page.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        PROFILES.iter().map(Self)
    }

    /// Without the `@`.
    pub(super) fn find(handle: &str) -> Option<Self> {
        Self::all().find(|it| it.handle() == handle)
    }

    pub(super) fn id(self) -> &'static str {
        self.0.id
    }

    pub(super) fn handle(self) -> &'static str {
        self.0.handle
    }

    pub(super) fn name(self) -> &'static str {
        self.0.name
    }

    pub(super) fn description(self) -> &'static str {
        self.0.about
    }

    fn avatar(self) -> String {
        let Profile { color, drawing, .. } = self.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\">\
             <rect width=\"64\" height=\"64\" rx=\"32\" fill=\"{color}\"/>{drawing}</svg>"
        )
    }
}

#[derive(Debug, thiserror::Error)]
#[error("there is no account of this name; choose one of {}", handles())]
pub(crate) struct NoSuchAccount;

impl TryFrom<String> for Account {
    type Error = NoSuchAccount;

    fn try_from(handle: String) -> Result<Self, NoSuchAccount> {
        Self::find(&handle).ok_or(NoSuchAccount)
    }
}

impl From<Account> for &'static str {
    fn from(account: Account) -> Self {
        account.handle()
    }
}

fn handles() -> String {
    let handles: Vec<_> = Account::all().map(Account::handle).collect();
    handles.join(", ")
}

/// For paths like `{handle}.svg`.
pub(super) async fn get_avatar(Path(file): Path<String>) -> Response {
    let Some(account) = file.strip_suffix(".svg").and_then(Account::find) else {
        return pages::not_found();
    };
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CONTENT_SECURITY_POLICY, NO_SCRIPT),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "max-age=3600"),
    ];
    (headers, account.avatar()).into_response()
}
