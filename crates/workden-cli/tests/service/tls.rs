//! HTTPS: a certificate by files, read again on HUP, and the messages for wrong ones.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use rcgen::{CertificateParams, KeyPair};

use crate::served::{Served, StateDirectory, until};

/// Writes a certificate for localhost and its key, and returns their files.
fn identity(directory: &Path, name: &str) -> (PathBuf, PathBuf) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let files = (directory.join(format!("{name}.pem")), directory.join(format!("{name}.key")));
    std::fs::write(&files.0, certificate.pem()).unwrap();
    std::fs::write(&files.1, key.serialize_pem()).unwrap();
    files
}

/// Asks for the health over HTTPS, with this certificate as the authority.
fn ask(served: &Served, authority: &Path, more: &[&str]) -> Result<String, String> {
    let port = served.address().rsplit_once(':').unwrap().1;
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--noproxy", "*", "--cacert"]).arg(authority).args(more);
    let output = curl.arg(format!("https://localhost:{port}/healthz")).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[tokio::test]
async fn a_service_with_a_certificate_speaks_https_and_shows_a_new_one_after_hup() {
    let (state, files) = (StateDirectory::new(), tempfile::tempdir().unwrap());
    let (certificate, key) = identity(files.path(), "served");
    let words = ["--tls-certificate", certificate.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let served = Served::start(state.path(), &words);
    assert!(served.url.starts_with("https://"), "{}", served.url);
    let first = files.path().join("first.pem");
    std::fs::copy(&certificate, &first).unwrap();
    for version in ["--http1.1", "--http2"] {
        let answer = ask(&served, &first, &[version, "--write-out", " %{http_version}"]).unwrap();
        assert!(
            answer.contains("\"status\":\"ok\"") && answer.ends_with(if version == "--http2" { "2" } else { "1.1" })
        );
    }
    let mut plain = Command::new("curl");
    let plain = plain.args(["--silent", "--noproxy", "*", &format!("http://{}/", served.address())]).status();
    assert!(!plain.unwrap().success(), "it does not speak HTTP");
    // A pair that does not belong together changes nothing.
    let (other_certificate, other_key) = identity(files.path(), "other");
    std::fs::copy(&other_key, &key).unwrap();
    served.signal("HUP");
    let told = |part: &'static str| served.log().iter().any(|line| line.contains(part));
    until("the refusal", || async { told("does not belong to the certificate") }).await;
    assert!(ask(&served, &first, &[]).is_ok());
    std::fs::copy(&other_certificate, &certificate).unwrap();
    served.signal("HUP");
    until("the new one", || async { told("read the configuration again") }).await;
    assert!(ask(&served, &other_certificate, &[]).is_ok());
    assert!(ask(&served, &first, &[]).unwrap_err().contains("certificate"));
}

#[tokio::test]
async fn a_wrong_certificate_is_told_before_anything_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    identity(directory.path(), "one");
    identity(directory.path(), "two");
    std::fs::write(at("empty"), "").unwrap();
    std::fs::write(at("broken"), "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").unwrap();
    for (certificate, key, expected) in [
        ("none", "one.key", "cannot read the certificate of TLS `$/none`: file not found"),
        ("one.pem", "none", "cannot read the key of TLS `$/none`: file not found"),
        ("empty", "one.key", "certificate not found in `$/empty`"),
        ("broken", "one.key", "invalid certificate in `$/broken`"),
        ("one.pem", "empty", "private key not found in `$/empty`"),
        ("one.pem", "one.pem", "private key not found in `$/one.pem`"),
        ("one.pem", "two.key", "the key in `$/two.key` does not belong to the certificate in `$/one.pem`"),
    ] {
        for check in [&["--check"][..], &[]] {
            let words = ["serve", "--listen", "0", "--state", &at("state"), "--tls-certificate", &at(certificate)];
            let mut program = Command::new(env!("CARGO_BIN_EXE_workden"));
            let output = program.args(words).args(["--tls-key", &at(key)]).args(check).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).replace(&directory.path().display().to_string(), "$");
            assert!(said.contains(expected), "{certificate} {key}: {said}");
            assert_eq!(output.status.code(), Some(1), "{said}");
        }
    }
}
