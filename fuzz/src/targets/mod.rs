//! One file for each target.

mod document;
mod edit;
mod glob;
mod grep;
mod hashline;
mod path;
mod shell;
mod window;

pub(crate) use document::SEEDS as DOCUMENT_SEEDS;
pub use document::document;
pub(crate) use edit::SEEDS as EDIT_SEEDS;
pub use edit::edit;
pub(crate) use glob::SEEDS as GLOB_SEEDS;
pub use glob::glob;
pub(crate) use grep::SEEDS as GREP_SEEDS;
pub use grep::grep;
pub(crate) use hashline::SEEDS as HASHLINE_SEEDS;
pub use hashline::hashline;
pub(crate) use path::SEEDS as PATH_SEEDS;
pub use path::path;
pub(crate) use shell::SEEDS as SHELL_SEEDS;
pub use shell::shell;
pub(crate) use window::SEEDS as WINDOW_SEEDS;
pub use window::window;
