//! One call of one tool.

use std::{
    io::{Read, Write, stdin},
    process::ExitCode,
};

use serde_json::Value;
use workden::tools::{ToolAnswer, Toolset};

use super::{
    answer::{self, AnswerDocument, Structured},
    jsonl,
};
use crate::failure::{Failure, INVALID_COMMAND_LINE};

pub(super) async fn run(tools: &Toolset, name: &str, typed: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let arguments: Value = match serde_json::from_str(&text_of(typed)?) {
        Ok(arguments) => arguments,
        Err(error) => {
            let sentence = format!("invalid JSON arguments: {error}");
            Failure::Request(format!("{sentence}\nhint: use '{{\"path\": \"notes.md\"}}', in single quotes")).tell();
            return Ok(ExitCode::from(INVALID_COMMAND_LINE));
        }
    };
    let outcome = tools.call(name, arguments).await;
    let code = match &outcome {
        Ok(answer) => ExitCode::from(code_of_command(answer)),
        Err(_) => ExitCode::FAILURE,
    };
    let text = match json {
        true => AnswerDocument::of(outcome, Structured::Shown).line(),
        false => ended(answer::text(&outcome)),
    };
    // Not through `anstream`: escape sequences of files and commands are passed on unchanged.
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)?;
    Ok(code)
}

/// Returns the exit code of the command that a tool ran; 0 for other tools.
fn code_of_command(answer: &ToolAnswer) -> u8 {
    let code = answer.structured.as_ref().and_then(|data| data.get("exit_code")?.as_u64());
    code.map_or(0, |code| u8::try_from(code).unwrap_or(u8::MAX))
}

/// Adds a final newline if it is missing.
fn ended(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn text_of(typed: Option<&str>) -> Result<String, Failure> {
    match typed {
        None => Ok("{}".to_owned()),
        Some("-") => {
            let mut text = String::new();
            let most = jsonl::LINE_BYTES as u64;
            stdin().lock().take(most + 1).read_to_string(&mut text).map_err(Failure::Input)?;
            match text.len() as u64 > most {
                true => Err(Failure::Request(format!("arguments too large: the limit is {most} bytes"))),
                false => Ok(text),
            }
        }
        Some(typed) => Ok(typed.to_owned()),
    }
}
