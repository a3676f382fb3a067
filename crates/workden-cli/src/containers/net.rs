//! `--net`: `none`, `host`, the name of a network of the daemon, `cluster` for pods, or `internet` at Daytona.

use std::fmt;

use workden::{Error, ErrorKind, Network, Result};

/// The network of pods that are not closed.
const OF_CLUSTER: &str = "cluster";
/// The network of sandboxes at Daytona that are not closed.
const OF_DAYTONA: &str = "internet";

/// The network of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Net {
    /// Only a private loopback.
    None,
    /// The network of this machine.
    Host,
    /// A named network of the Docker daemon, that of the cluster of a pod, or that of Daytona.
    OfDaemon(String),
}

impl Net {
    /// Parses the value of `--net`.
    pub(crate) fn parse(typed: &str) -> std::result::Result<Self, String> {
        let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        match typed {
            "none" => Ok(Self::None),
            "host" => Ok(Self::Host),
            // `container:ID` and the like would join the network of another container.
            name if !name.is_empty() && is_name(name) && !name.starts_with('-') => Ok(Self::OfDaemon(name.to_owned())),
            _ => Err("use `none`, `host`, with `--sandbox docker` the name of a network of the daemon, with \
                      `--sandbox kubernetes` `cluster`, or with `--sandbox daytona` `internet`"
                .to_owned()),
        }
    }

    /// Converts it for a pod, whose network is that of the cluster unless it is closed.
    pub(crate) fn in_cluster(&self) -> Result<Network> {
        match self {
            Self::None => Ok(Network::None),
            Self::OfDaemon(name) if name == OF_CLUSTER => Ok(Network::Host),
            Self::Host | Self::OfDaemon(_) => {
                let sentence = format!("`--net {self}` is not supported with `--sandbox kubernetes`");
                Err(Error::new(ErrorKind::Unsupported, sentence)
                    .hint("use `--net none`, or `--net cluster` for the network of the cluster"))
            }
        }
    }

    /// Converts it for a sandbox that is not a container.
    pub(crate) fn without_daemon(&self) -> Result<Network> {
        match self {
            Self::None => Ok(Network::None),
            Self::Host => Ok(Network::Host),
            Self::OfDaemon(name) => {
                let sandbox = match name.as_str() {
                    OF_CLUSTER => "kubernetes",
                    OF_DAYTONA => "daytona",
                    _ => "docker",
                };
                let sentence = format!("`--net {name}` requires `--sandbox {sandbox}`");
                Err(Error::new(ErrorKind::InvalidArgument, sentence)
                    .hint(format!("use `--net none` or `--net host`, or add `--sandbox {sandbox}`")))
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
        let cluster = Net::parse("cluster").unwrap();
        assert_eq!((cluster.in_cluster().unwrap(), Net::None.in_cluster().unwrap()), (Network::Host, Network::None));
        for (name, sandbox) in [("cluster", "kubernetes"), ("internet", "daytona"), ("bridge", "docker")] {
            let error = Net::parse(name).unwrap().without_daemon().unwrap_err();
            assert_eq!(error.sentence(), format!("`--net {name}` requires `--sandbox {sandbox}`"));
        }
        assert!(Net::Host.in_cluster().is_err() && Net::OfDaemon("bridge".to_owned()).in_cluster().is_err());
    }
}
