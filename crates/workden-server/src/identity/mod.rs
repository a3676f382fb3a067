//! Who calls: API keys, their roles, and the tokens of sessions.
//!
//! Invariant: a route learns its caller from [`Principal`] alone, which exists only after a valid key. What belongs to
//! another tenant is reported as missing.

mod local_names;
mod principal;
mod rates;
mod secret;

pub(crate) use principal::{
    AdminKey, KEY_PROTOCOL, Principal, Role, TenantKey, TrustedKeys, WEBSOCKET_PROTOCOL, authenticate, key_in,
};
pub(crate) use rates::Rates;
pub(crate) use secret::{ServiceSecret, equal, new_id, new_key};
