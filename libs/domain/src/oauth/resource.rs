//! Resource indicators of access tokens (RFC 8707).

use serde::{Deserialize, Serialize};

/// Where an access token is accepted, and where a request arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// The whole service: the API, called directly and through the MCP tools.
    #[default]
    Service,
    /// The API, called directly.
    Api,
    /// The MCP tools, and the API through them.
    Mcp,
}

impl Resource {
    const ALL: [Self; 3] = [Self::Service, Self::Api, Self::Mcp];

    pub fn path(self) -> &'static str {
        match self {
            Self::Service => "",
            Self::Api => "/api/v1",
            Self::Mcp => "/mcp",
        }
    }

    /// Parses the URL of a resource of the service at `origin`, with or without a trailing slash.
    pub fn parse(origin: &str, address: &str) -> Option<Self> {
        let path = address.strip_prefix(origin)?;
        let path = path.strip_suffix('/').unwrap_or(path);
        Self::ALL.into_iter().find(|it| it.path() == path)
    }

    pub fn includes(self, other: Self) -> bool {
        self == Self::Service || self == other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_is_one_of_three_urls_of_the_service() {
        let parse = |address: &str| Resource::parse("https://a.example", address);
        for (path, resource) in [("", Resource::Service), ("/api/v1", Resource::Api), ("/mcp", Resource::Mcp)] {
            assert_eq!(parse(&format!("https://a.example{path}")), Some(resource));
            assert_eq!(parse(&format!("https://a.example{path}/")), Some(resource));
        }
        for other in [
            "https://a.example.evil",
            "https://b.example/mcp",
            "http://a.example/mcp",
            "/mcp",
            "",
            "https://a.example/x",
            "https://a.example//",
            "https://a.example/mcp//",
            "https://a.example/mcp/x",
            "https://a.example/MCP",
            "https://a.example/mcp?x",
            "https://a.example/mcp#x",
            "https://a.example/api",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn only_a_service_token_includes_other_resources() {
        for one in Resource::ALL {
            for other in Resource::ALL {
                assert_eq!(one.includes(other), one == other || one == Resource::Service, "{one:?} {other:?}");
            }
        }
    }
}
