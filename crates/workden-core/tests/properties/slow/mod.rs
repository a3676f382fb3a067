//! Slow and simple second opinions: what the engine must agree with. They share no code with it,
//! and prefer what is plainly right to what is fast. The fuzz targets use them as well.

pub mod edit;
pub mod glob;
pub mod hashline;
pub mod lines;
pub mod path;
