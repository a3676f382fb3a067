//! The question as a person reads it, and what they can answer.
//!
//! Invariant: nothing in a question that comes from a model or a file can pass for our words or
//! command a terminal; and who reads only a part is told so first.

use std::fmt::Write as _;

use rmcp::model::{BooleanSchema, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use workden::{Decision, Scope, core::ApprovalRequest};

use crate::limits::QUESTION_CHARS;

/// The one thing that can be said besides yes and no.
const REMEMBER: &str = "remember";

/// What somebody said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Yes, this time.
    Once,
    /// Yes, and do not ask again about the same.
    Session,
    /// No.
    Declined,
    /// Neither: the question was closed.
    Dismissed,
}

impl Reply {
    /// What the answer to a form comes to. Who accepts it approves.
    pub(crate) fn of(answer: &ElicitResult) -> Self {
        let remember = || answer.content.as_ref().and_then(|content| content.get(REMEMBER)?.as_bool());
        match answer.action {
            ElicitationAction::Accept if remember() == Some(true) => Self::Session,
            ElicitationAction::Accept => Self::Once,
            ElicitationAction::Decline => Self::Declined,
            _ => Self::Dismissed,
        }
    }

    /// Whether it is a yes.
    pub(crate) fn is_yes(self) -> bool {
        matches!(self, Self::Once | Self::Session)
    }

    pub(crate) fn decision(self) -> Decision {
        match self {
            Self::Once => Decision::Approve(Scope::Once),
            Self::Session => Decision::Approve(Scope::Session),
            Self::Declined => Decision::deny("the user declined"),
            Self::Dismissed => Decision::deny("the user closed the question without an answer"),
        }
    }
}

/// The question as a form: accepting it is a yes.
pub(crate) fn form(request: &ApprovalRequest) -> ElicitRequestParams {
    let remember = |field: BooleanSchema| {
        field
            .title("Do not ask again")
            .description("Approve the same call on the same paths, or the same command, until the session ends")
            .with_default(false)
    };
    let requested_schema = ElicitationSchema::builder().bool_property(REMEMBER, remember).build_unchecked();
    ElicitRequestParams::FormElicitationParams { meta: None, message: words(request), requested_schema }
}

fn words(request: &ApprovalRequest) -> String {
    let mut body = format!("{}\n\nIt has to be approved: {}", request.description, request.why);
    if let Some(command) = &request.command
        && !request.description.contains(&command.script)
    {
        let _ = write!(body, "\n\nThe whole command:\n{}", command.script);
    }
    if let Some(preview) = &request.preview {
        let _ = write!(body, "\n\n{preview}");
    }
    let asker = request.caller.as_ref().map_or("The agent", |caller| caller.tool.as_str());
    let whole = body.chars().count();
    let start = match whole.saturating_sub(QUESTION_CHARS) {
        0 => String::new(),
        left_out => format!("CAREFUL: {left_out} of {whole} characters are not shown.\n"),
    };
    let shown: String = body.chars().take(QUESTION_CHARS).collect();
    harmless(&format!("{start}{asker} wants your approval: {shown}"))
}

/// The same with everything spelled out that a terminal obeys or that turns text around.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let turns = matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        match character {
            '\n' | '\t' => out.push(character),
            _ if character.is_control() || turns => {
                let _ = write!(out, "{}", character.escape_unicode());
            }
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use workden::{VirtualPath, core::CommandLine};

    use super::*;

    fn command(script: &str) -> ApprovalRequest {
        ApprovalRequest {
            call: "execute".to_owned(),
            operations: vec!["execute".to_owned()],
            paths: vec![],
            other_names: vec![],
            below: 0,
            command: Some(CommandLine { script: script.to_owned(), directory: VirtualPath::root(), understood: None }),
            description: format!("Run `{}`", script.chars().take(20).collect::<String>()),
            why: "it asks".to_owned(),
            refusal: None,
            caller: None,
            preview: None,
        }
    }

    #[test]
    fn a_command_is_shown_to_its_end() {
        let long = format!("echo harmless; {}; rm -rf important", "true; ".repeat(200));
        assert!(words(&command(&long)).contains("rm -rf important"));
        assert_eq!(words(&command("ls")).matches("ls").count(), 1, "what is short is not said twice");
    }

    #[test]
    fn who_sees_only_a_part_is_told_so_first() {
        let shown = words(&command(&"true; ".repeat(QUESTION_CHARS)));
        assert!(shown.starts_with("CAREFUL: "), "{}", &shown[..80]);
        assert!(shown.chars().count() < QUESTION_CHARS + 200);
    }

    #[test]
    fn nothing_in_it_commands_a_terminal_or_turns_the_text_around() {
        let shown = words(&command("ls \u{1b}[2J\r\u{202e}gnp.exe \u{7}"));
        assert!(shown.chars().all(|character| character == '\n' || !character.is_control()), "{shown:?}");
        assert!(shown.contains("\\u{1b}[2J\\u{d}\\u{202e}gnp.exe"), "{shown}");
    }

    #[test]
    fn accepting_is_a_yes_and_everything_else_is_not() {
        let said = |answer: serde_json::Value| Reply::of(&serde_json::from_value(answer).unwrap());
        assert_eq!(said(json!({ "action": "accept" })), Reply::Once);
        assert_eq!(said(json!({ "action": "accept", "content": { "remember": false } })), Reply::Once);
        assert_eq!(said(json!({ "action": "accept", "content": { "remember": "true" } })), Reply::Once);
        assert_eq!(said(json!({ "action": "accept", "content": { "remember": true } })), Reply::Session);
        assert_eq!(said(json!({ "action": "decline", "content": { "remember": true } })), Reply::Declined);
        assert_eq!(said(json!({ "action": "cancel" })), Reply::Dismissed);
    }
}
