//! Commands run as the user of the keeper, and cannot learn its token.

use workden_core::{Sandbox, sandbox::ExecuteRequest};

use crate::places::{BUSYBOX, kubectl, pod};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_cannot_read_the_token() {
    let name = format!("workden-secrecy-{}", std::process::id());
    let sandbox = pod(BUSYBOX).pod_name(&name).build().unwrap();
    sandbox.start().await.unwrap();
    let secret = format!("workden-{}", kubectl(&["get", "pod", &name, "-o", "jsonpath={.metadata.uid}"]));
    let encoded = kubectl(&["get", "secret", &secret, "-o", "jsonpath={.data.token}"]);
    let decode = format!("echo {encoded} | base64 -d");
    let token = sandbox.execute(&ExecuteRequest::shell(&decode)).await.unwrap().output.text().to_string();
    assert_eq!(token.len(), 64);
    // Everything that a command of the same user can read about the keeper, its files and its variables. The token is
    // given in two halves, so that the search does not find itself.
    let (first, second) = token.split_at(32);
    let search = format!(
        "t={first}; t=${{t}}{second}; cat /proc/1/environ /proc/1/mem /proc/1/cmdline /proc/1/maps 2>/dev/null | grep -c $t; \
         grep -rlF $t /.workden /tmp /workspace /proc/1/fd /dev/shm 2>/dev/null; env | grep $t; echo searched"
    );
    let found = sandbox.execute(&ExecuteRequest::shell(&search)).await.unwrap();
    assert_eq!(found.output.text(), "0\nsearched\n");
    let attempts = ExecuteRequest::shell("cat /proc/1/environ; ls -l /proc/1/exe; kill -9 1; echo $?");
    let traced = sandbox.execute(&attempts).await.unwrap().output.text().to_string();
    assert!(traced.contains("Permission denied"), "{traced}");
    assert!(sandbox.execute(&ExecuteRequest::shell("true")).await.is_ok());
    sandbox.stop().await.unwrap();
}
