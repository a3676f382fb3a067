//! What the backends of this crate do that the conformance suite cannot ask of every backend:
//! links, special files, modes, full disks, mount tables.

mod bad_input;
mod composite;
mod conformance;
mod links;
mod local;
mod special_files;
mod writes;
