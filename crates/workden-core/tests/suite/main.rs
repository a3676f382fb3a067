//! Tests of the contract: gates, questions, ceilings and records of [`workden_core::Guarded`].

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers included")]

mod guard;
