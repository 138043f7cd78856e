//! Where a base URL points.

use hyper::Uri;

/// A server, and the path of one of its interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) is_encrypted: bool,
    /// Without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    /// As a `Host` header has it: the port only where it is not the scheme's.
    pub(super) authority: String,
    /// Path and query.
    pub(super) path: String,
}

impl Address {
    /// Where `path` lies behind `base`, or what is wrong with `base`. A query stays at the end.
    pub(super) fn new(base: &str, path: &str) -> Result<Self, String> {
        let uri: Uri = base
            .parse()
            .map_err(|error| format!("it is no URL: {error}"))?;
        let is_encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(other) => {
                return Err(format!(
                    "its scheme is `{other}`, allowed are http and https"
                ));
            }
            None => return Err("it has no scheme: write http:// or https:// first".to_owned()),
        };
        let authority = uri.authority().ok_or("it names no host")?;
        if authority.as_str().contains('@') {
            return Err("it holds a user name or password: name an environment variable for the key instead".to_owned());
        }
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        if host.is_empty() {
            return Err("it names no host".to_owned());
        }
        let usual = if is_encrypted { 443 } else { 80 };
        let given = authority.as_str().len() > authority.host().len();
        let port = match authority.port_u16() {
            Some(0) => return Err("its port is 0".to_owned()),
            Some(port) => port,
            None if given => return Err("its port is not a number from 1 to 65535".to_owned()),
            None => usual,
        };
        let query = uri
            .query()
            .map_or_else(String::new, |query| format!("?{query}"));
        let folder = uri.path().trim_end_matches('/');
        let shown = if port == usual {
            authority.host().to_owned()
        } else {
            format!("{}:{port}", authority.host())
        };
        Ok(Self {
            is_encrypted,
            host: host.to_owned(),
            port,
            authority: shown,
            path: format!("{folder}/{path}{query}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_keeps_its_path_and_query() {
        let cases = [
            (
                "https://api.example.com/v1",
                "api.example.com",
                443,
                "api.example.com",
                "/v1/completions",
            ),
            (
                "http://127.0.0.1:8000/v1/",
                "127.0.0.1",
                8000,
                "127.0.0.1:8000",
                "/v1/completions",
            ),
            ("http://[::1]:80", "::1", 80, "[::1]", "/completions"),
            (
                "https://x.example:8443/a/b?api-version=2",
                "x.example",
                8443,
                "x.example:8443",
                "/a/b/completions?api-version=2",
            ),
        ];
        for (base, host, port, authority, path) in cases {
            let address = Address::new(base, "completions").expect(base);
            assert_eq!(
                (address.host.as_str(), address.port),
                (host, port),
                "{base}"
            );
            assert_eq!(
                (address.authority.as_str(), address.path.as_str()),
                (authority, path),
                "{base}"
            );
        }
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said() {
        let cases = [
            ("api.example.com/v1", "it is no URL"),
            ("example.com", "it has no scheme"),
            ("ftp://example.com", "its scheme is `ftp`"),
            ("http://key@example.com", "it holds a user name"),
            ("http://example.com:99999", "its port is not a number"),
            ("http://example.com:0", "its port is 0"),
            ("http://", "it is no URL"),
            ("", "it is no URL"),
        ];
        for (base, said) in cases {
            let error = Address::new(base, "completions").expect_err(base);
            assert!(error.starts_with(said), "{base}: {error}");
        }
    }
}
