//! Servers in sessions, reached through this service: by a path of the API, or by a host name of their own.
//!
//! Invariant: what a server in a session says is hostile. By its own host name, it has an origin of its own. Below a
//! path of the API it shares the origin of the service, so a browser runs it in a sandbox, without that origin. It never
//! sees a key, a token or a cookie of the service.

mod access;
mod forward;
mod headers;

pub(crate) use access::{ALL_PORTS, PortAddress, PortVisit};
pub(crate) use forward::forward;
pub(crate) use headers::Place;
