//! What holds for every command of a keeper, in this process and in one of its own.

#![cfg(target_os = "linux")]

mod commands;
mod common;
mod jobs;
mod orphans;
mod program;
mod streams;
