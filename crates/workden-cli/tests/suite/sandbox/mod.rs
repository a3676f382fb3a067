//! Sandboxes as a user starts them: `workden run`, `workden doctor`, and the library with this binary as its keeper.

mod after_run;
mod at_work;
mod doctor;
mod level;
mod library;
mod logs;
mod masks;
mod packages;
mod planted;
mod run;
mod run_streams;
mod toolchains;
mod words;
