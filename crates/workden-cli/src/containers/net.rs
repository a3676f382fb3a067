//! `--net`: what can be reached, by a word that every sandbox knows or by the name of a daemon's network.

use std::fmt;

use workden::{Error, ErrorKind, Network, Result};

/// What can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Net {
    /// Nothing but a loopback of its own.
    None,
    /// What this machine reaches.
    Host,
    /// What a network of the Docker daemon reaches.
    OfDaemon(String),
}

impl Net {
    /// From how it is typed.
    pub(crate) fn parse(typed: &str) -> std::result::Result<Self, String> {
        let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        match typed {
            "none" => Ok(Self::None),
            "host" => Ok(Self::Host),
            // `container:` and the like would be somebody else's network.
            name if !name.is_empty() && is_name(name) && !name.starts_with('-') => Ok(Self::OfDaemon(name.to_owned())),
            _ => Err("`none`, `host`, or with `--sandbox docker` the name of a network of the daemon".to_owned()),
        }
    }

    /// For a sandbox that is no container.
    pub(crate) fn without_daemon(&self) -> Result<Network> {
        match self {
            Self::None => Ok(Network::None),
            Self::Host => Ok(Network::Host),
            Self::OfDaemon(name) => {
                let sentence = format!("`--net {name}` would be a network of a Docker daemon");
                Err(Error::new(ErrorKind::InvalidArgument, sentence)
                    .hint("`none` or `host`, or `--sandbox docker` as well"))
            }
        }
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Host => "host",
            Self::OfDaemon(name) => name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_words_or_names() {
        for (typed, net) in [("none", Net::None), ("host", Net::Host), ("bridge", Net::OfDaemon("bridge".to_owned()))] {
            assert_eq!(Net::parse(typed), Ok(net.clone()));
            assert_eq!(net.to_string(), typed);
        }
        for typed in ["", "container:x", "-x", "a b", "a/b"] {
            assert!(Net::parse(typed).is_err(), "{typed}");
        }
        assert!(Net::Host.without_daemon().is_ok());
        assert!(Net::OfDaemon("bridge".to_owned()).without_daemon().is_err());
    }
}
