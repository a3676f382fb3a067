//! What a command would do to files, and how dangerous it is: the meaning of what the shell
//! analysis finds.

mod command_effects;
mod danger;
mod effects;
mod embedded_code;
mod facts;
mod file_effect;
mod judge;
mod judgement;
mod languages;
mod layers;
mod options;
mod places;
mod programs;
mod sed_script;
mod shapes;
mod special;

pub use judgement::{CommandJudgement, Reason, ReasonKind};
pub(crate) use shapes::RuleShapes;
