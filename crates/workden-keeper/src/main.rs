//! The keeper as a program of its own, for containers.

fn main() {}
