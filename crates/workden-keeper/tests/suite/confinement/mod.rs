//! Walls, tried from inside: each attempt runs in a sandbox of its own, started by root and by an ordinary user,
//! and must fail in the expected way. The attempts would do no harm if they succeeded.

mod lifetime;
mod limits;
mod mounts;
mod run;
mod walls;
