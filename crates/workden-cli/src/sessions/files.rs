//! `workden sessions files`: lists the files of a session, and copies one in or out.

use std::io::{Read, Write};

use workden::SessionId;
use workden_core::{
    BackendExt, Expect, Sandbox, VirtualPath,
    escape::spell,
    search::{ListRequest, Listing},
    show_size,
};

use super::user_sessions;
use crate::failure::{Failure, request};

pub(super) async fn run(id: &SessionId, words: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.len() > 3 || (words.len() > 1 && !matches!(words.as_slice(), ["get", _] | ["put", _, _])) {
        let sentence = "invalid arguments: use `files ID [PATH]`, `files ID get PATH` or `files ID put FILE PATH`";
        return Err(Failure::Request(sentence.to_owned()));
    }
    let sessions = user_sessions().map_err(request)?;
    let record = sessions.known(id).map_err(request)?;
    let directory = record.directory.clone();
    let session = sessions.open(id, record).await.map_err(request)?;
    let sandbox: &dyn Sandbox = &*session;
    let place = |typed: &str| VirtualPath::parse_from(&directory, typed).map_err(request);
    match words.as_slice() {
        ["get", path] => {
            let content = sandbox.read_bytes(&place(path)?).await.map_err(request)?;
            std::io::stdout().lock().write_all(&content).map_err(Failure::Output)
        }
        ["put", file, path] => {
            let mut content = Vec::new();
            match *file {
                "-" => std::io::stdin().lock().read_to_end(&mut content).map_err(Failure::Input)?,
                file => std::fs::File::open(file)
                    .and_then(|mut file| file.read_to_end(&mut content))
                    .map_err(|error| Failure::Request(format!("cannot read {file}: {error}")))?,
            };
            let written = sandbox.write_path(&place(path)?, content.into(), Expect::Anything).await;
            written.map(drop).map_err(request)
        }
        words => listed(sandbox, &place(words.first().copied().unwrap_or("."))?).await,
    }
}

async fn listed(sandbox: &dyn Sandbox, directory: &VirtualPath) -> Result<(), Failure> {
    let listing = sandbox.list_path(directory, &ListRequest::default()).await.map_err(request)?;
    anstream::stdout().lock().write_all(shown(&listing).as_bytes()).map_err(Failure::Output)
}

/// Escapes names, so that each entry is one line: commands of the session choose the names.
fn shown(listing: &Listing) -> String {
    let mut text = String::new();
    for entry in &listing.entries {
        entry.path.name().unwrap_or("/").chars().for_each(|character| spell(&mut text, character));
        match entry.size.filter(|_| !entry.is_dir()) {
            Some(size) => text.push_str(&format!("  {}\n", show_size(size))),
            None => text.push_str(if entry.is_dir() { "/\n" } else { "\n" }),
        }
    }
    if listing.left_out > 0 {
        text.push_str(&format!("({} more)\n", listing.left_out));
    }
    text
}
