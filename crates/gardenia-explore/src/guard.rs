//! Who may ask: checks of the Host and Origin headers and of the token.

use std::net::{IpAddr, SocketAddr};

/// What a request must fulfil.
///
/// A page of another site can send requests to a loopback address, and with a name that resolves to
/// it (DNS rebinding) it could read the answers. So the Host header must be an address or name
/// under which this server was started, and an Origin header, if there is one, must be the same.
#[derive(Clone, Debug)]
pub struct Guard {
    hosts: Vec<String>,
    /// Set where the server listens at every address of the machine: any address may then be the
    /// one that was asked, but no name, which is what rebinding needs.
    any_address: Option<u16>,
    token: Option<String>,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The Host header is not an address of this server.
    Host,
    /// It comes from another site.
    Site,
    /// The token is missing or wrong.
    Token,
}

impl Refusal {
    pub(crate) fn is_token(self) -> bool {
        self == Self::Token
    }
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Host => "the Host header is not an address of this server",
            Self::Site => "the request comes from another site",
            Self::Token => "the token is missing or wrong; open the address that the program printed",
        }
    }
}

impl Guard {
    /// The guard of a server at this address; with a token unless it is a loopback address.
    #[must_use]
    pub fn new(address: IpAddr, port: u16, token: Option<String>) -> Self {
        let mut hosts =
            vec![format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
        let own = match address {
            IpAddr::V4(address) => format!("{address}:{port}"),
            IpAddr::V6(address) => format!("[{address}]:{port}"),
        };
        if !hosts.contains(&own) {
            hosts.push(own);
        }
        Self { hosts, any_address: address.is_unspecified().then_some(port), token }
    }

    /// Whether this is how the server may be called, in a Host header or after `http://` in an
    /// Origin.
    fn knows(&self, name: &str) -> bool {
        let is_address = |port: u16| name.parse::<SocketAddr>().is_ok_and(|address| address.port() == port);
        self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
            || self.any_address.is_some_and(is_address)
    }

    /// Why a request is refused, if it is. `origin` and `site` are the headers Origin and
    /// Sec-Fetch-Site.
    pub fn refusal(
        &self,
        host: Option<&str>,
        origin: Option<&str>,
        site: Option<&str>,
        token: Option<&str>,
    ) -> Option<Refusal> {
        if !host.is_some_and(|host| self.knows(host)) {
            return Some(Refusal::Host);
        }
        if origin.is_some_and(|origin| !origin.strip_prefix("http://").is_some_and(|name| self.knows(name))) {
            return Some(Refusal::Site);
        }
        if site.is_some_and(|site| matches!(site, "cross-site" | "same-site")) {
            return Some(Refusal::Site);
        }
        match &self.token {
            Some(own) if !token.is_some_and(|given| same(own.as_bytes(), given.as_bytes())) => {
                Some(Refusal::Token)
            }
            _ => None,
        }
    }
}

/// Equal, in a time that does not depend on where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}
