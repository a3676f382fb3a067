//! Programs that the API server executes in a pod, and ports of a pod that it forwards: the streams to them.

use std::io;

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{AttachParams, Request},
};
use tokio::io::{AsyncRead, AsyncReadExt};
use workden_core::Result;

use super::{
    channel_stream::{self, ChannelStream, Channels},
    errors, plan,
};

/// The channels of a program: its standard streams, and its end.
const PROGRAM: Channels = Channels { input: 0, output: 1, complaint: 2, status: Some(3), heading: 0 };
/// The channels of the first forwarded port.
const PORT: Channels = Channels { input: 0, output: 0, complaint: 1, status: None, heading: 2 };
/// The most bytes of a line.
const LINE_BYTES: usize = 100;

/// Executes a program in the container of a pod.
pub(super) async fn run(pods: &Api<Pod>, name: &str, words: &[String]) -> Result<ChannelStream> {
    let params = AttachParams::default().container(plan::CONTAINER).stdin(true).stdout(true).stderr(true);
    let request = Request::new(pods.resource_url()).exec(name, words, &params);
    open(pods, request, PROGRAM, &format!("execute a program in `{name}`")).await
}

/// Connects to a port of a pod.
pub(super) async fn forward(pods: &Api<Pod>, name: &str, port: u16) -> Result<ChannelStream> {
    let request = Request::new(pods.resource_url()).portforward(name, &[port]);
    open(pods, request, PORT, "forward a port").await
}

async fn open(
    pods: &Api<Pod>,
    request: std::result::Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    channels: Channels,
    what: &str,
) -> Result<ChannelStream> {
    let request = request.map_err(kube::Error::BuildRequest);
    let opened = async { channel_stream::open(&pods.clone().into_client(), request?, channels).await };
    opened.await.map_err(|error| errors::failed(what, &error))
}

/// Reads a short line, and no byte after it.
pub(super) async fn line(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut line = Vec::new();
    while line.len() < LINE_BYTES {
        match stream.read_u8().await? {
            b'\n' => break,
            byte => line.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}
