//! Streams that end without a word: a server with a heartbeat notices, and leaves clients alone that are only idle.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{sleep, timeout},
};
use workden_core::Sandbox;
use workden_wire::{RemoteSandbox, ServeOptions, serve};

use crate::{
    pipes::{in_memory, in_memory_files, served},
    scripted::Scripted,
};

const HEARTBEAT: Duration = Duration::from_millis(100);
/// How HTTP/2 begins: its preface, and settings that set nothing.
const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

fn options() -> ServeOptions {
    ServeOptions::default().heartbeat(HEARTBEAT)
}

#[tokio::test]
async fn a_client_that_answers_nothing_any_more_is_let_go() {
    let (mut near, far) = in_memory();
    let sandbox = Arc::new(Scripted::over(in_memory_files()));
    let serving = tokio::spawn(serve(sandbox, far, options()));
    near.write_all(HELLO).await.unwrap();
    // It listens, and says nothing: neither does it close its end.
    let listening = async {
        let mut heard = Vec::new();
        let _ = near.read_to_end(&mut heard).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = timeout(Duration::from_secs(5), serving) => assert!(ended.is_ok(), "it is still served"),
        () = listening => {}
    }
}

#[tokio::test]
async fn a_client_that_is_only_idle_is_kept() {
    let (near, far) = in_memory();
    served(Arc::new(Scripted::over(in_memory_files())), far, options());
    let remote = RemoteSandbox::connect(near, None).await.unwrap();
    sleep(HEARTBEAT * 8).await;
    assert!(!remote.is_gone());
    remote.usage().await.unwrap();
}
