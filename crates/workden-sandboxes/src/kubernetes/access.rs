//! `Access`: what a client needs to use the keeper of a pod, and the Secret that shares it with other processes.
//!
//! Invariant: the processes that share a pod agree on one `Access` by creating its Secret before they launch the
//! keeper. Each of them can launch it then, at any time and again, because all of them send the same.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::api::{ObjectMeta, PostParams};
use rcgen::{CertificateParams, KeyPair};
use workden_core::{Error, ErrorKind, Result};

use super::{
    cluster::{Cluster, patiently},
    errors, labels,
};
use crate::token;

const TOKEN: &str = "token";
const CERTIFICATE: &str = "certificate";
const KEY: &str = "key";

/// The token and the certificate of a keeper.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) token: String,
    /// In PEM.
    pub(super) certificate: String,
    /// The private key of the certificate, in PEM, for a launch.
    pub(super) key: String,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Access")
    }
}

impl Access {
    /// The name in every certificate. Clients recognise the certificate itself.
    pub(super) const NAME: &str = "keeper.workden.internal";

    /// Returns a new token and certificate.
    pub(super) fn random() -> Result<Self> {
        let failed = |_| Error::new(ErrorKind::Io, "cannot create a certificate for the keeper");
        let key = KeyPair::generate().map_err(failed)?;
        let params = CertificateParams::new([Self::NAME.to_owned()]).map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?.pem();
        Ok(Self { token: token::random()?, certificate, key: key.serialize_pem() })
    }

    /// Returns the access to a pod on which all processes agree: that of its Secret, which this call creates if no
    /// process has. The Secret belongs to the pod, and is deleted with it.
    pub(super) async fn agreed(cluster: &Cluster, pod: &str, uid: &str) -> Result<Self> {
        if let Some(access) = Self::read(cluster, uid).await? {
            return Ok(access);
        }
        let own = Self::random()?;
        if own.share(cluster, pod, uid).await? {
            return Ok(own);
        }
        // Another process was faster, or the answer to an earlier attempt was lost.
        Self::read(cluster, uid).await?.ok_or_else(|| {
            let sentence = format!("the secret `{}` was deleted, or is not one of workden", secret_name(uid));
            Error::new(ErrorKind::Gone, sentence).hint(format!("delete the pod `{pod}`, and try again"))
        })
    }

    /// Reads the Secret of a pod.
    pub(super) async fn read(cluster: &Cluster, uid: &str) -> Result<Option<Self>> {
        let (secrets, name) = (cluster.secrets().await?, secret_name(uid));
        match patiently(|| secrets.get_opt(&name)).await {
            Ok(secret) => Ok(secret.and_then(|secret| Self::of(&secret))),
            Err(error) => Err(errors::failed(&format!("read the secret `{name}`"), &error)),
        }
    }

    /// Creates the Secret; `false` when there is one.
    async fn share(&self, cluster: &Cluster, pod: &str, uid: &str) -> Result<bool> {
        let data = [(TOKEN, &self.token), (CERTIFICATE, &self.certificate), (KEY, &self.key)];
        let data = data.map(|(name, value)| (name.to_owned(), ByteString(value.clone().into_bytes())));
        let owner = OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: pod.to_owned(),
            uid: uid.to_owned(),
            ..OwnerReference::default()
        };
        let name = secret_name(uid);
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                labels: Some(labels::ours()),
                owner_references: Some(vec![owner]),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from(data)),
            immutable: Some(true),
            type_: Some("workden.dev/keeper".to_owned()),
            ..Secret::default()
        };
        let secrets = cluster.secrets().await?;
        let params = PostParams::default();
        let made = patiently(|| secrets.create(&params, &secret)).await;
        match made {
            Ok(_) => Ok(true),
            Err(error) if errors::exists_already(&error) => Ok(false),
            Err(error) => Err(errors::failed(&format!("create the secret `{name}`"), &error)),
        }
    }

    fn of(secret: &Secret) -> Option<Self> {
        let data = secret.data.as_ref()?;
        let text = |name: &str| String::from_utf8(data.get(name)?.0.clone()).ok();
        Some(Self { token: text(TOKEN)?, certificate: text(CERTIFICATE)?, key: text(KEY)? })
    }
}

/// Returns the name of the Secret of a pod. It has the id of the pod: the Secret of an earlier pod of the same name is
/// deleted only some time after that pod.
fn secret_name(uid: &str) -> String {
    format!("workden-{uid}")
}
