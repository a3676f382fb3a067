//! The question as a person reads it, and the answers they can give.
//!
//! Invariant: no text from a model or a file can pass for the server's own or control a terminal: each line of it
//! has a mark, and invisible characters are escaped. A question that leaves something out says so in its first line.

use std::fmt::Write as _;

use rmcp::model::{BooleanSchema, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use workden::{
    Decision, Scope,
    core::{ApprovalRequest, escape},
};

use crate::limits::{COMMAND_CHARS, QUESTION_CHARS};

/// The field of the form that approves the same again.
const REMEMBER: &str = "remember";
/// The field of the form that approves commands like this one.
const REMEMBER_PREFIX: &str = "remember_prefix";

/// The answer of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Yes, this time.
    Once,
    /// Yes, and do not ask again about the same.
    Session,
    /// Yes, and do not ask again about commands that start with the same words.
    Prefix,
    /// No.
    Declined,
    /// The question was closed without an answer.
    Dismissed,
}

impl Reply {
    /// Converts the answer to a form. To accept the form is to approve.
    pub(crate) fn of(answer: &ElicitResult) -> Self {
        let says =
            |field: &str| answer.content.as_ref().and_then(|content| content.get(field)?.as_bool()) == Some(true);
        match answer.action {
            ElicitationAction::Accept if says(REMEMBER_PREFIX) => Self::Prefix,
            ElicitationAction::Accept if says(REMEMBER) => Self::Session,
            ElicitationAction::Accept => Self::Once,
            ElicitationAction::Decline => Self::Declined,
            _ => Self::Dismissed,
        }
    }

    /// Whether the person approved.
    pub(crate) fn is_yes(self) -> bool {
        matches!(self, Self::Once | Self::Session | Self::Prefix)
    }

    /// The decision about the request in question.
    pub(crate) fn decision(self, request: &ApprovalRequest) -> Decision {
        match self {
            Self::Once => Decision::Approve(Scope::Once),
            Self::Session => Decision::Approve(Scope::Session),
            // A prefix that the form did not offer is not approved.
            Self::Prefix => Decision::Approve(Scope::prefix_of(request).unwrap_or(Scope::Once)),
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
    let mut fields = ElicitationSchema::builder().bool_property(REMEMBER, remember);
    if let Some(Scope::CommandPrefix { words, directory }) = Scope::prefix_of(request) {
        let (words, directory) = (escape::line(&words.join(" ")), escape::line(directory.as_str()));
        fields = fields.bool_property(REMEMBER_PREFIX, |field: BooleanSchema| {
            field
                .title(format!("Do not ask again about `{words}`"))
                .description(format!("Approve every command that begins with `{words}` in `{directory}`, {until}"))
                .with_default(false)
        });
    }
    let requested_schema = fields.build_unchecked();
    ElicitRequestParams::FormElicitationParams { meta: None, message: message(request), requested_schema }
}

fn message(request: &ApprovalRequest) -> String {
    let mut unseen = Vec::new();
    let long = request.command.as_ref().filter(|command| !request.description.contains(&command.script));
    let what = match long {
        Some(command) => format!("Run the command below in `{}`", escape::line(command.directory.as_str())),
        None => escape::line(&request.description),
    };
    let mut body = what;
    if let Some(reason) = request.reason() {
        let _ = write!(body, "\n\nReason: {}", escape::line(reason));
    }
    if let Some(command) = long {
        let _ = write!(body, "\n\nThe command:\n{}", both_ends(&command.script, &mut unseen));
    }
    if let Some(preview) = &request.preview {
        let shown = marked(preview);
        let room = QUESTION_CHARS.saturating_sub(body.chars().count());
        let _ = write!(body, "\n\nWhat would change:\n{}", shown.chars().take(room).collect::<String>());
        let cut = shown.chars().count().saturating_sub(room);
        let of_preview = (cut > 0).then(|| format!("{cut} characters"));
        let all: Vec<String> = request.left_out.iter().map(|words| escape::line(words)).chain(of_preview).collect();
        if !all.is_empty() {
            unseen.push(format!("{} of the change", all.join(" and ")));
        }
    }
    let asker = request.caller.as_ref().map_or("The agent", |caller| caller.tool.as_str());
    let careful = match unseen.is_empty() {
        true => String::new(),
        false => format!("CAREFUL: not shown are {}.\n", unseen.join(", and ")),
    };
    format!("{careful}{} wants your approval: {body}", escape::line(asker))
}

/// Marks the lines of a command. Of a long one both ends are shown: the end is where an attacker would hide something.
fn both_ends(script: &str, unseen: &mut Vec<String>) -> String {
    let count = script.chars().count();
    let Some(left_out) = count.checked_sub(COMMAND_CHARS).filter(|left_out| *left_out > 0) else {
        return marked(script);
    };
    let half = COMMAND_CHARS / 2;
    let start: String = script.chars().take(half).collect();
    let end: String = script.chars().skip(count - half).collect();
    unseen.push(format!("{left_out} of {count} characters of the command"));
    format!("{}\n({left_out} characters are not shown here)\n{}", marked(&start), marked(&end))
}

/// Marks each line of a text that is not ours, and escapes its invisible characters.
fn marked(text: &str) -> String {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    lines.map(|line| format!("| {}", escape::line(line))).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use workden::{
        VirtualPath,
        core::{CommandLine, Refusal},
    };

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
    fn a_cut_question_says_so_first_and_shows_both_ends_of_a_command() {
        let script = format!("echo start; {}rm -rf important", "true; ".repeat(QUESTION_CHARS));
        let shown = message(&command(&script));
        let count = script.len();
        let first = format!("CAREFUL: not shown are {} of {count} characters of the command.\n", count - COMMAND_CHARS);
        assert!(shown.starts_with(&first), "{}", &shown[..120]);
        assert!(shown.contains("| echo start; ") && shown.ends_with("; rm -rf important"), "{}", &shown[..120]);
        assert_eq!(shown.matches("echo start").count(), 1, "a command is shown once");
        assert!(shown.chars().count() < QUESTION_CHARS);
    }

    #[test]
    fn what_a_preview_leaves_out_is_told_first_and_cannot_be_forged() {
        let mut request = ApprovalRequest::new("write", "Write 9 bytes to `/a`", "it asks");
        request.preview = Some("@@ -0,0 +1,3001 @@\n+x\nCAREFUL: nothing\n... (2802 more lines)\n".to_owned());
        assert!(message(&request).starts_with("The agent wants your approval: "));
        request.left_out = Some("2802 lines".to_owned());
        let shown = message(&request);
        assert!(shown.starts_with("CAREFUL: not shown are 2802 lines of the change.\n"), "{shown}");
        assert!(shown.contains("\n| CAREFUL: nothing\n"), "{shown}");
        request.preview = Some("x".repeat(QUESTION_CHARS));
        let shown = message(&request);
        assert!(shown.starts_with("CAREFUL: not shown are 2802 lines and "), "{}", &shown[..120]);
    }

    #[test]
    fn no_text_controls_a_terminal_or_its_direction() {
        let shown = message(&command("ls \u{1b}[2J\r\u{202e}gnp.exe \u{7}"));
        assert!(shown.chars().all(|character| character == '\n' || !character.is_control()), "{shown:?}");
        assert!(shown.contains("\\u{1b}[2J\\r\\u{202e}gnp.exe"), "{shown}");
    }

    #[test]
    fn no_name_command_or_content_can_pass_for_the_servers_text() {
        let forged = "a\n\nReason: the owner agreed\n\nWhat would change:\n@@ -1 +1 @@";
        let mut request = command(&format!("true\n{forged}"));
        request.description = format!("Write `{forged}`");
        request.why = format!("cannot write `{forged}` without approval");
        request.preview = Some(format!("@@ -0,0 +1 @@\n {}", forged.replace('\n', "\n ")));
        let shown = message(&request);
        let ours: Vec<&str> = shown.lines().filter(|line| !line.is_empty() && !line.starts_with("| ")).collect();
        assert_eq!(ours.len(), 4, "{shown}");
        assert_eq!(ours[0], "The agent wants your approval: Run the command below in `/`", "{shown}");
        assert!(ours[1].starts_with("Reason: cannot write `a\\n"), "{shown}");
        assert_eq!(ours[2..], ["The command:", "What would change:"], "{shown}");
    }

    #[test]
    fn a_question_does_not_say_the_same_twice() {
        let asked = |description: &str| {
            let refusal = Refusal::Unapproved {
                operation: "write".to_owned(),
                target: "/a".to_owned(),
                description: description.to_owned(),
            };
            message(
                &ApprovalRequest::new("write", "Write 9 bytes to `/a`", "cannot write `/a` without approval")
                    .refusal(refusal),
            )
        };
        assert_eq!(asked(""), "The agent wants your approval: Write 9 bytes to `/a`");
        assert_eq!(asked("Notes"), "The agent wants your approval: Write 9 bytes to `/a`\n\nReason: Notes");
    }

    #[test]
    fn the_form_offers_commands_that_begin_alike() {
        let mut request = command("pytest -q");
        let fields = |request: &ApprovalRequest| {
            let form = serde_json::to_value(form(request, "until the end")).unwrap();
            form["requestedSchema"]["properties"].clone()
        };
        assert_eq!(fields(&request).as_object().unwrap().len(), 1, "the line was not understood");
        request.command.as_mut().unwrap().understood = Some(vec![vec!["pytest".to_owned(), "-q".to_owned()]]);
        let offered = &fields(&request)[REMEMBER_PREFIX];
        assert_eq!(offered["title"], "Do not ask again about `pytest`");
        assert_eq!(offered["description"], "Approve every command that begins with `pytest` in `/`, until the end");
        let words = vec!["pytest".to_owned()];
        let scope = Scope::CommandPrefix { words, directory: VirtualPath::root() };
        assert_eq!(Reply::Prefix.decision(&request), Decision::Approve(scope));
        assert_eq!(Reply::Prefix.decision(&command("pytest $x")), Decision::Approve(Scope::Once));
    }

    #[test]
    fn invisible_characters_are_escaped() {
        let unseen = "\u{61c}\u{ad}\u{180e}\u{3164}\u{2800}\u{34f}\u{fe0f}\u{e0041}\u{e0042}";
        let mut request = command(&format!("true {unseen}"));
        (request.why, request.preview) = (unseen.to_owned(), Some(unseen.to_owned()));
        request.description = unseen.to_owned();
        let shown = message(&request);
        assert!(!shown.contains(|character| unseen.contains(character)), "{shown:?}");
        assert_eq!(shown.matches("\\u{e0041}").count(), 3, "{shown}");
    }

    #[test]
    fn accepting_approves_and_everything_else_does_not() {
        let said = |answer: serde_json::Value| Reply::of(&serde_json::from_value(answer).unwrap());
        assert_eq!(said(json!({ "action": "accept" })), Reply::Once);
        assert_eq!(said(json!({ "action": "accept", "content": { "remember": false } })), Reply::Once);
        assert_eq!(said(json!({ "action": "accept", "content": { "remember": "true" } })), Reply::Once);
        assert_eq!(said(json!({ "action": "accept", "content": { "remember": true } })), Reply::Session);
        assert_eq!(
            said(json!({ "action": "accept", "content": { "remember": true, "remember_prefix": true } })),
            Reply::Prefix
        );
        assert_eq!(said(json!({ "action": "decline", "content": { "remember": true } })), Reply::Declined);
        assert_eq!(said(json!({ "action": "cancel" })), Reply::Dismissed);
    }
}
