//! What holds for every command of a keeper.

mod commands;
mod common;
