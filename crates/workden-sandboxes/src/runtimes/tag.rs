//! The tag of a runtime's image.
//!
//! Invariant: two runtimes have the same tag only if they build the same image. Descriptions make no difference.

use std::fmt;

use sha2::{Digest, Sha256};
use workden_core::Result;

use super::RuntimeConfig;

/// The repository of all images that are built for runtimes.
pub const IMAGE_REPOSITORY: &str = "workden-runtime";
/// The version of the hash. Change it to rebuild the images of unchanged Dockerfiles.
const FORMAT: &str = "workden runtime image 1\n";
const HASH_BYTES: usize = 6;

/// The name of a runtime's image: `workden-runtime:python-web-0123456789ab`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RuntimeTag {
    /// The name of the runtime.
    pub runtime: String,
    /// The hash of its content, as twelve hexadecimal digits.
    pub hash: String,
}

impl RuntimeTag {
    pub(crate) fn of(name: &str, dockerfile: &str) -> Self {
        let digest = Sha256::new().chain_update(FORMAT).chain_update(dockerfile).finalize();
        let hash = digest.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Self { runtime: name.to_owned(), hash }
    }
}

impl fmt::Display for RuntimeTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{IMAGE_REPOSITORY}:{}-{}", self.runtime, self.hash)
    }
}

impl RuntimeConfig {
    /// Returns the tag of its image; `None` for an image that is used as it is.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an invalid runtime.
    pub fn tag(&self) -> Result<Option<RuntimeTag>> {
        Ok(self.dockerfile()?.map(|dockerfile| RuntimeTag::of(&self.name, &dockerfile)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::builtin;

    #[test]
    fn a_tag_is_of_what_is_built() {
        let runtime = builtin("python-web").unwrap();
        let tag = runtime.tag().unwrap().unwrap();
        let text = tag.to_string();
        let hash = text.strip_prefix("workden-runtime:python-web-").unwrap();
        assert!(hash.len() == 12 && hash.bytes().all(|each| b"0123456789abcdef".contains(&each)), "{text}");
        let same = RuntimeConfig { description: "else".into(), cache_image: false, ..runtime.clone() };
        assert_eq!(same.tag().unwrap().unwrap(), tag);
        for other in [
            RuntimeConfig { packages: vec!["six".into()], ..runtime.clone() },
            RuntimeConfig { work_dir: "/else".into(), ..runtime.clone() },
            RuntimeConfig { user: Some("1000".into()), ..runtime.clone() },
            RuntimeConfig { env_vars: [("A".into(), "b".into())].into(), ..runtime },
        ] {
            assert_ne!(other.tag().unwrap().unwrap().hash, tag.hash);
        }
        assert_eq!(builtin("node-minimal").unwrap().tag().unwrap(), None);
    }
}
