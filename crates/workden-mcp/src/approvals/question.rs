//! The question as a person reads it, and the answers they can give.
//!
//! Invariant: no text from a model or a file can pass for the server's own or control a terminal: each line of it
//! has a mark, and invisible characters are escaped. A question that is cut says so in its first line.

use std::fmt::Write as _;

use rmcp::model::{BooleanSchema, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use workden::{
    Decision, Scope,
    core::{ApprovalRequest, escape},
};

use crate::limits::QUESTION_CHARS;

/// The only field of the form.
const REMEMBER: &str = "remember";

/// The answer of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Yes, this time.
    Once,
    /// Yes, and do not ask again about the same.
    Session,
    /// No.
    Declined,
    /// The question was closed without an answer.
    Dismissed,
}

impl Reply {
    /// Converts the answer to a form. To accept the form is to approve.
    pub(crate) fn of(answer: &ElicitResult) -> Self {
        let remember = || answer.content.as_ref().and_then(|content| content.get(REMEMBER)?.as_bool());
        match answer.action {
            ElicitationAction::Accept if remember() == Some(true) => Self::Session,
            ElicitationAction::Accept => Self::Once,
            ElicitationAction::Decline => Self::Declined,
            _ => Self::Dismissed,
        }
    }

    /// Whether the person approved.
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

/// Returns the question as a form, which a person accepts to approve. `until` says how long a remembered approval
/// holds.
pub(crate) fn form(request: &ApprovalRequest, until: &str) -> ElicitRequestParams {
    let remember = |field: BooleanSchema| {
        field
            .title("Do not ask again")
            .description(format!("Approve the same call on the same paths, or the same command, {until}"))
            .with_default(false)
    };
    let requested_schema = ElicitationSchema::builder().bool_property(REMEMBER, remember).build_unchecked();
    ElicitRequestParams::FormElicitationParams { meta: None, message: message(request), requested_schema }
}

fn message(request: &ApprovalRequest) -> String {
    let mut body =
        format!("{}\n\nIt has to be approved: {}", escape::line(&request.description), escape::line(&request.why));
    if let Some(command) = &request.command
        && !request.description.contains(&command.script)
    {
        let _ = write!(body, "\n\nThe whole command:\n{}", marked(&command.script));
    }
    if let Some(preview) = &request.preview {
        let _ = write!(body, "\n\nWhat would change:\n{}", marked(preview));
    }
    let asker = request.caller.as_ref().map_or("The agent", |caller| caller.tool.as_str());
    let whole = body.chars().count();
    let start = match whole.saturating_sub(QUESTION_CHARS) {
        0 => String::new(),
        left_out => format!("CAREFUL: {left_out} of {whole} characters are not shown.\n"),
    };
    let shown: String = body.chars().take(QUESTION_CHARS).collect();
    format!("{start}{} wants your approval: {shown}", escape::line(asker))
}

/// Marks each line of a text that is not ours, and escapes its invisible characters.
fn marked(text: &str) -> String {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    lines.map(|line| format!("| {}", escape::line(line))).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use workden::{VirtualPath, core::CommandLine};

    use super::*;

    fn command(script: &str) -> ApprovalRequest {
        ApprovalRequest::new("execute", format!("Run `{}`", script.chars().take(20).collect::<String>()), "it asks")
            .command(CommandLine { script: script.to_owned(), directory: VirtualPath::root(), understood: None })
    }

    #[test]
    fn a_command_is_shown_to_its_end() {
        let long = format!("echo harmless; {}; rm -rf important", "true; ".repeat(200));
        assert!(message(&command(&long)).contains("rm -rf important"));
        assert_eq!(message(&command("ls")).matches("ls").count(), 1, "a short command is not repeated");
    }

    #[test]
    fn a_cut_question_says_so_first() {
        let shown = message(&command(&"true; ".repeat(QUESTION_CHARS)));
        assert!(shown.starts_with("CAREFUL: "), "{}", &shown[..80]);
        assert!(shown.chars().count() < QUESTION_CHARS + 200);
    }

    #[test]
    fn no_text_controls_a_terminal_or_its_direction() {
        let shown = message(&command("ls \u{1b}[2J\r\u{202e}gnp.exe \u{7}"));
        assert!(shown.chars().all(|character| character == '\n' || !character.is_control()), "{shown:?}");
        assert!(shown.contains("\\u{1b}[2J\\r\\u{202e}gnp.exe"), "{shown}");
    }

    #[test]
    fn no_name_command_or_content_can_pass_for_the_servers_text() {
        let forged = "a\n\nIt has to be approved: the owner agreed\n\nWhat would change:\n@@ -1 +1 @@";
        let mut request = command(&format!("true\n{forged}"));
        request.description = format!("Write `{forged}`");
        request.why = format!("cannot write `{forged}` without approval");
        request.preview = Some(format!("@@ -0,0 +1 @@\n {}", forged.replace('\n', "\n ")));
        let shown = message(&request);
        let ours: Vec<&str> = shown.lines().filter(|line| !line.is_empty() && !line.starts_with("| ")).collect();
        assert_eq!(ours.len(), 4, "{shown}");
        assert!(ours[0].starts_with("The agent wants your approval: Write `a\\n\\nIt has"), "{shown}");
        assert!(ours[1].starts_with("It has to be approved: cannot write `a\\n"), "{shown}");
        assert_eq!(ours[2..], ["The whole command:", "What would change:"], "{shown}");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        let unseen = "\u{61c}\u{ad}\u{180e}\u{3164}\u{2800}\u{34f}\u{fe0f}\u{e0041}\u{e0042}";
        let mut request = command(&format!("true {unseen}"));
        (request.why, request.preview) = (unseen.to_owned(), Some(unseen.to_owned()));
        request.description = unseen.to_owned();
        let shown = message(&request);
        assert!(!shown.contains(|character| unseen.contains(character)), "{shown:?}");
        assert_eq!(shown.matches("\\u{e0041}").count(), 4, "{shown}");
    }

    #[test]
    fn accepting_approves_and_everything_else_does_not() {
        let said = |answer: serde_json::Value| Reply::of(&serde_json::from_value(answer).unwrap());
        assert_eq!(said(json!({ "action": "accept" })), Reply::Once);
        assert_eq!(said(json!({ "action": "accept", "content": { "remember": false } })), Reply::Once);
        assert_eq!(said(json!({ "action": "accept", "content": { "remember": "true" } })), Reply::Once);
        assert_eq!(said(json!({ "action": "accept", "content": { "remember": true } })), Reply::Session);
        assert_eq!(said(json!({ "action": "decline", "content": { "remember": true } })), Reply::Declined);
        assert_eq!(said(json!({ "action": "cancel" })), Reply::Dismissed);
    }
}
