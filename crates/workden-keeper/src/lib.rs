//! The keeper: the small program that lives inside a sandbox as its PID 1 and serves its files and
//! processes over the wire.

mod setting;

pub use setting::Setting;
