//! Files at the other end of a byte stream behave as the contract says.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use workden_files::LocalBackend;
use workden_wire::{RemoteSandbox, ServeOptions};

use crate::{
    pipes::{connected, in_memory, in_memory_files, served, sockets},
    scripted::Scripted,
};

/// Runs the suite over a directory for each check, and a stream of its own.
async fn local_conforms<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(pipe: fn() -> (S, S)) {
    let above = TempDir::new().unwrap();
    let number = AtomicU64::new(0);
    workden_conformance::all(async || {
        let directory = above.path().join(number.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&directory).unwrap();
        let (near, far) = pipe();
        served(Arc::new(Scripted::over(LocalBackend::open(directory).unwrap())), far, ServeOptions::default());
        RemoteSandbox::connect(near, None).await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_directory_conforms_through_a_pipe_in_memory() {
    local_conforms(in_memory).await;
}

#[tokio::test]
async fn a_directory_conforms_through_a_pair_of_sockets() {
    local_conforms(sockets).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_directory_conforms_on_several_threads() {
    local_conforms(sockets).await;
}

#[tokio::test]
async fn a_workspace_in_memory_conforms_through_a_pipe() {
    workden_conformance::all(async || connected(Scripted::over(in_memory_files())).await).await;
}

#[tokio::test]
async fn a_wire_over_a_wire_conforms() {
    workden_conformance::all(async || {
        let near = Scripted::over(in_memory_files());
        connected(connected(near).await).await
    })
    .await;
}
