//! A connection to a server in a sandbox.

use std::pin::Pin;

use futures_io::{AsyncRead, AsyncWrite};

/// A connection to a port of a sandbox. Dropping it closes the connection; closing it ends only what is sent.
pub type PortStream = Pin<Box<dyn PortConnection>>;

/// The bytes of a connection, both ways.
pub trait PortConnection: AsyncRead + AsyncWrite + Send {}

impl<S: AsyncRead + AsyncWrite + Send> PortConnection for S {}
