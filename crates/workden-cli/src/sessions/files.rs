//! `workden sessions files`: lists the files of a session, and copies files and directories in or out.

use std::{
    io::{Read, Write},
    path::{Component, Path, PathBuf},
};

use workden::{SessionId, files::LocalBackend};
use workden_core::{
    Backend, BackendExt, Expect, Sandbox, Symlink, VirtualPath,
    escape::spell,
    search::{ListRequest, Listing},
    show_size,
};

use super::{
    copy::{self, From, Named, To},
    user_sessions,
};
use crate::failure::{Failure, request, unreadable};

/// The name of the standard stream.
const STREAM: &str = "-";
/// How many paths that were left out are named.
const NAMED: usize = 5;

pub(super) async fn run(id: &SessionId, words: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_call = matches!(words.as_slice(), [] | [_] | ["get", _] | ["get", _, _] | ["put", _, _]);
    if !is_call {
        let sentence =
            "invalid arguments: use `files ID [PATH]`, `files ID get PATH [DEST]` or `files ID put FILE PATH`";
        return Err(Failure::Usage(sentence.to_owned()));
    }
    let sessions = user_sessions().map_err(request)?;
    let record = sessions.known(id).map_err(request)?;
    let directory = record.directory.clone();
    let session = sessions.open(id, record).await.map_err(request)?;
    let sandbox = session.sandbox();
    let place = |typed: &str| VirtualPath::parse_from(&directory, typed).map_err(request);
    match words.as_slice() {
        ["get", path] | ["get", path, STREAM] => print(&*sandbox, &place(path)?).await,
        ["get", path, destination] => get(&sandbox, &place(path)?, destination).await,
        ["put", STREAM, path] => {
            let mut content = Vec::new();
            std::io::stdin().lock().read_to_end(&mut content).map_err(Failure::Input)?;
            sandbox.write_path(&place(path)?, content.into(), Expect::Anything).await.map(drop).map_err(request)
        }
        ["put", file, path] => put(&sandbox, Path::new(file), &place(path)?).await,
        words => listed(&*sandbox, &place(words.first().copied().unwrap_or("."))?).await,
    }
}

async fn print(sandbox: &dyn Sandbox, path: &VirtualPath) -> Result<(), Failure> {
    let content = match sandbox.read_bytes(path).await {
        Ok(content) => content,
        Err(error) if error.kind() == workden::ErrorKind::IsDirectory => {
            let name = path.name().unwrap_or("files");
            return Err(Failure::Request(format!(
                "`{}` is a directory\nhint: name a destination: `get {name} {name}`",
                copy::shown(path)
            )));
        }
        Err(error) => return Err(request(error)),
    };
    std::io::stdout().lock().write_all(&content).map_err(Failure::Output)
}

async fn get(sandbox: &std::sync::Arc<dyn Sandbox>, path: &VirtualPath, typed: &str) -> Result<(), Failure> {
    let (root, destination) = destination(typed).map_err(request)?;
    let missing = |_| Failure::Request(format!("directory `{}` not found", root.display()));
    let host = LocalBackend::open(&root).map_err(missing)?;
    let named = if typed.ends_with('/') { Named::Directory } else { Named::FileOrDirectory };
    let destination = copy::place(To(&host, &destination), named, path.name()).await.map_err(request)?;
    let left_out = copy::copy(From(sandbox, path), To(&host, &destination)).await.map_err(request)?;
    tell(&left_out);
    Ok(())
}

async fn put(sandbox: &std::sync::Arc<dyn Sandbox>, file: &Path, path: &VirtualPath) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| unreadable("file", file, &error);
    // A path that the user typed is followed; links below it are not.
    let real = file.canonicalize().map_err(wrong)?;
    let name = file.file_name().or(real.file_name()).and_then(|name| name.to_str());
    // Links of the session are followed on the way: they lead to its own files.
    let path = sandbox.resolve(path, Symlink::Follow).await.map_err(request)?.real;
    let path = copy::place(To(sandbox, &path), Named::FileOrDirectory, name).await.map_err(request)?;
    if !real.is_dir() {
        let mut content = Vec::new();
        std::fs::File::open(&real).and_then(|mut file| file.read_to_end(&mut content)).map_err(wrong)?;
        return sandbox.write_path(&path, content.into(), Expect::Anything).await.map(drop).map_err(request);
    }
    let host = LocalBackend::open(&real).map_err(request)?;
    let left_out = copy::copy(From(&host, &VirtualPath::root()), To(sandbox, &path)).await.map_err(request)?;
    tell(&left_out);
    Ok(())
}

/// Returns the directory of the host to write in, and the path below it. A relative path is below the current directory,
/// so that no link on the way is followed: commands of the session may have made it.
fn destination(typed: &str) -> workden::Result<(PathBuf, VirtualPath)> {
    let path = Path::new(typed);
    if path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Ok((PathBuf::from("."), VirtualPath::parse_from(&VirtualPath::root(), typed)?));
    }
    Ok(match (path.parent(), path.file_name().and_then(|name| name.to_str())) {
        (Some(parent), Some(name)) => (parent.to_owned(), VirtualPath::root().child(name)?),
        _ => (path.to_owned(), VirtualPath::root()),
    })
}

/// Says what was not copied.
fn tell(left_out: &[String]) {
    if left_out.is_empty() {
        return;
    }
    let named: Vec<String> = left_out.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    let more = left_out.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let note = format!("note: not copied, because they are links or no regular files: {}{more}", named.join(", "));
    let _ = writeln!(anstream::stderr(), "{note}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_destination_is_below_this_directory_and_others_below_their_parent() {
        for (typed, root, path) in [
            ("out.txt", ".", "/out.txt"),
            ("./a/b/", ".", "/a/b"),
            (".", ".", "/"),
            ("..", "..", "/"),
            ("../out", "..", "/out"),
            ("/srv/out", "/srv", "/out"),
            ("/", "/", "/"),
        ] {
            let (found, at) = destination(typed).unwrap();
            assert_eq!((found.as_path(), at.as_str()), (Path::new(root), path), "{typed}");
        }
    }
}
