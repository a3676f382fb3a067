//! What a command would do to files, and how dangerous it is: the meaning of what the shell
//! analysis finds.

mod danger;
mod effects;
mod facts;
mod inline;
mod judge;
mod judgement;
mod layers;
mod options;
mod places;
mod programs;
mod sed_script;
mod shapes;
mod special;

pub use judgement::{CommandJudgement, Reason, ReasonKind};
pub(crate) use shapes::RuleShapes;
