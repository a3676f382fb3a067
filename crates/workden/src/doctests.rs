//! The examples of README.md, CONTRIBUTING.md and docs/, compiled and run with the other doctests. There is nothing
//! here in any other build.

#[doc = include_str!("../../../README.md")]
mod readme {}

#[doc = include_str!("../../../CONTRIBUTING.md")]
mod contributing {}

#[doc = include_str!("../../../docs/files.md")]
mod files {}

#[doc = include_str!("../../../docs/policy.md")]
mod policy {}
