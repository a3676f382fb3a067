//! Slow and simple second opinions: what the engine must agree with. They share no code with it,
//! and prefer what is plainly right to what is fast. The fuzz targets use them as well.

pub(crate) mod edit;
pub(crate) mod glob;
pub(crate) mod hashline;
pub(crate) mod lines;
pub(crate) mod path;
