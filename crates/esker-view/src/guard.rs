//! Who is answered: whoever knows the token, and whose request names this server.
//!
//! Any page in a browser can send requests to 127.0.0.1, and a name that an attacker owns can be
//! made to point there (DNS rebinding). Three things stand against it: the token in the path, which
//! no other page can know; the host that a request names, which must be this machine's own
//! address and no foreign name; and the origin of the page that asks, which must be this server.

use std::net::{IpAddr, SocketAddr};

/// Bytes of randomness in a token.
const TOKEN_BYTES: usize = 16;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The token is missing or wrong.
    Token,
    /// It is meant for another host.
    Host,
    /// A page of another site makes it.
    Origin,
}

impl Refusal {
    /// What the answer says.
    pub fn message(self) -> &'static str {
        match self {
            Refusal::Token => {
                "the address lacks the token: open the one that `esker view` has printed"
            }
            Refusal::Host => "this server does not answer for that host",
            Refusal::Origin => "this server does not answer to pages of other sites",
        }
    }
}

/// What a request says about itself.
pub struct Asking<'a> {
    /// Path, with its leading slash.
    pub path: &'a str,
    /// Header `Host`.
    pub host: Option<&'a str>,
    /// Header `Origin`.
    pub origin: Option<&'a str>,
    /// Header `Sec-Fetch-Site`.
    pub fetch_site: Option<&'a str>,
}

/// The door of a server.
pub struct Guard {
    token: String,
    address: SocketAddr,
}

impl Guard {
    /// A door with a new token for a server at this address.
    pub fn new(address: SocketAddr) -> Result<Self, getrandom::Error> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Guard {
            token: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            address,
        })
    }

    /// The token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The part of the path behind the token, if the request may be answered.
    pub fn admit<'a>(&self, asking: &Asking<'a>) -> Result<&'a str, Refusal> {
        if !asking.host.is_some_and(|host| self.is_own(host)) {
            return Err(Refusal::Host);
        }
        let own_origin = |origin: &str| {
            let host = origin.strip_prefix("http://");
            host.is_some() && host == asking.host
        };
        if asking.origin.is_some_and(|origin| !own_origin(origin))
            || asking.fetch_site == Some("cross-site")
        {
            return Err(Refusal::Origin);
        }
        let path = asking.path.strip_prefix('/').unwrap_or(asking.path);
        let (token, rest) = path.split_once('/').unwrap_or((path, ""));
        match equal_in_constant_time(token.as_bytes(), self.token.as_bytes()) {
            true => Ok(rest),
            false => Err(Refusal::Token),
        }
    }

    /// Whether a host is this server: its own address, or another number of this machine where it
    /// listens on all of them. Names other than `localhost` are never taken: whoever owns a name
    /// decides where it points.
    fn is_own(&self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else {
            return false;
        };
        if port.parse() != Ok(self.address.port()) {
            return false;
        }
        let bound = self.address.ip();
        let local = bound.is_loopback() || bound.is_unspecified();
        if name.eq_ignore_ascii_case("localhost") {
            return local;
        }
        let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
        match bare.unwrap_or(name).parse::<IpAddr>() {
            Ok(ip) => bound.is_unspecified() || ip == bound || (local && ip.is_loopback()),
            Err(_) => false,
        }
    }
}

/// Takes as long for a token that is wrong in its first letter as for one wrong in its last.
fn equal_in_constant_time(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        Guard {
            token: "secret".into(),
            address: address.parse().unwrap(),
        }
    }

    fn asking<'a>(path: &'a str, host: &'a str) -> Asking<'a> {
        Asking {
            path,
            host: Some(host),
            origin: None,
            fetch_site: None,
        }
    }

    #[test]
    fn only_the_token_opens() {
        let guard = guard("127.0.0.1:8000");
        let admit = |path| guard.admit(&asking(path, "127.0.0.1:8000"));
        assert_eq!(admit("/secret/frame"), Ok("frame"));
        assert_eq!(admit("/secret/"), Ok(""));
        assert_eq!(admit("/secret"), Ok(""));
        for wrong in [
            "/",
            "/frame",
            "/secre/frame",
            "/secrets/",
            "//secret/",
            "/SECRET/",
        ] {
            assert_eq!(admit(wrong), Err(Refusal::Token), "{wrong}");
        }
    }

    #[test]
    fn foreign_hosts_are_refused() {
        let here = guard("127.0.0.1:8000");
        for own in ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"] {
            assert!(here.admit(&asking("/secret/", own)).is_ok(), "{own}");
        }
        for foreign in [
            "127.0.0.1",
            "127.0.0.1:80",
            "evil.example:8000",
            "192.168.1.5:8000",
            "localhost.evil.example:8000",
            "",
        ] {
            let answer = here.admit(&asking("/secret/", foreign));
            assert_eq!(answer, Err(Refusal::Host), "{foreign}");
        }
        let everywhere = guard("0.0.0.0:8000");
        assert!(
            everywhere
                .admit(&asking("/secret/", "192.168.1.5:8000"))
                .is_ok()
        );
        assert!(
            everywhere
                .admit(&asking("/secret/", "evil.example:8000"))
                .is_err()
        );
        let none = Asking {
            host: None,
            ..asking("/secret/", "")
        };
        assert_eq!(here.admit(&none), Err(Refusal::Host));
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let guard = guard("127.0.0.1:8000");
        let ask = |origin, fetch_site| {
            guard.admit(&Asking {
                origin,
                fetch_site,
                ..asking("/secret/", "127.0.0.1:8000")
            })
        };
        assert!(ask(Some("http://127.0.0.1:8000"), Some("same-origin")).is_ok());
        for other in [
            "http://evil.example",
            "https://127.0.0.1:8000",
            "null",
            "http://127.0.0.1",
        ] {
            assert_eq!(ask(Some(other), None), Err(Refusal::Origin), "{other}");
        }
        assert_eq!(ask(None, Some("cross-site")), Err(Refusal::Origin));
        assert!(ask(None, Some("none")).is_ok());
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let address = "127.0.0.1:1".parse().unwrap();
        let tokens = [(); 2].map(|()| Guard::new(address).unwrap().token);
        assert_eq!(tokens[0].len(), 32);
        assert_ne!(tokens[0], tokens[1]);
    }
}
