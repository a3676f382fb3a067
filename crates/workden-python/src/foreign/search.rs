//! Listing and searching: the backend searches, and the results are filtered by the rules.

use pyo3::prelude::*;
use workden_core::{
    Entry, Error, ErrorKind, Result, VirtualPath,
    search::{
        FileMatches, GlobRequest, Globbed, GrepRequest, Grepped, Hidden, LetterCase, LineMatch, LineMatches, LineRole,
        ListRequest, Listing, Pattern, Skipped, Span, Syntax,
    },
};
use workden_files::toolkit::{Admission, TopEntries, TopMatches, WalkFilter};

use super::{Foreign, entries};

/// A matching line that the backend reported.
struct Hit {
    path: String,
    number: u64,
    text: String,
}

pub(super) async fn list(foreign: &Foreign, at: &VirtualPath, request: &ListRequest) -> Result<Listing> {
    let found = foreign.entries(at).await?;
    // A file and a missing path both return an empty list: the parent directory tells them apart.
    let is_doubtful = found.is_empty() || (found.len() == 1 && found[0].path == *at);
    if is_doubtful && !foreign.entry(at).await?.is_dir() {
        return Err(Error::not_directory("list", at));
    }
    let screen = WalkFilter::for_list(request, at)?;
    let context = screen.enter(None, at.clone(), None, false);
    let shown = |entry: &Entry| {
        let name = entry.path.name().unwrap_or_default();
        screen.admits(&context, name, entry.is_dir()) == Admission::Admit
    };
    // Under the requested path, regardless of the path that the backend reports.
    let own = |mut entry: Entry| {
        entry.path = entry.path.name().map_or_else(|| at.clone(), |name| at.child_unchecked(name));
        entry
    };
    Ok(Listing::of(found.into_iter().filter(shown).map(own).collect(), request.keep))
}

pub(super) async fn glob(foreign: &Foreign, at: &VirtualPath, request: &GlobRequest) -> Result<Globbed> {
    let screen = WalkFilter::for_glob(request, at)?;
    let arguments = (request.pattern.clone(), at.to_string());
    let found = foreign.call("glob_info", arguments, entries).await?;
    let (mut kept, mut skipped) = (TopEntries::new(request.keep), Skipped::default());
    for entry in found {
        if is_shown(&screen, &entry.path, entry.is_dir(), &mut skipped) {
            kept.extend([entry]);
        }
    }
    Ok(kept.finish(skipped, workden_core::Completeness::Complete))
}

pub(super) async fn grep(foreign: &Foreign, at: &VirtualPath, request: &GrepRequest) -> Result<Grepped> {
    let screen = WalkFilter::for_grep(request, at)?;
    let glob = match request.filter.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => return Err(unable("only one filter is supported")),
    };
    let arguments = (regex(&request.pattern)?, at.to_string(), glob, request.hidden == Hidden::Skip);
    let hits = foreign.call("grep_raw", arguments, hits).await?;
    let hits = hits.map_err(|said| Error::new(ErrorKind::InvalidPattern, said))?;
    let (mut kept, mut skipped) = (TopMatches::new(request.keep), Skipped::default());
    let mut files: Vec<FileMatches> = Vec::new();
    for hit in hits {
        let Ok(path) = VirtualPath::parse(&hit.path) else { continue };
        let line = LineMatch::new(hit.number, &hit.text, LineRole::Match);
        match files.last_mut().filter(|file| file.path == path) {
            Some(file) => {
                file.count += 1;
                file.lines.push(line);
            }
            None => files.push(FileMatches::new(path, 1).lines(LineMatches::from_iter([line]))),
        }
    }
    let mut searched = 0;
    for file in files {
        let is_named = file.path == *at;
        if is_named || is_shown(&screen, &file.path, false, &mut skipped) {
            searched += 1;
            kept.push(file);
        }
    }
    kept.count_searched(searched, skipped, workden_core::Completeness::Complete);
    Ok(kept.finish())
}

/// Whether a result may be shown: rules apply to results of a backend as to native ones.
fn is_shown(screen: &WalkFilter, path: &VirtualPath, is_dir: bool, skipped: &mut Skipped) -> bool {
    let Some(parent) = path.parent() else { return false };
    let context = screen.enter(None, parent, None, false);
    screen.admits(&context, path.name().unwrap_or_default(), is_dir).counted_in(skipped)
}

/// Returns the pattern in the form of a backend, which supports regular expressions only.
fn regex(pattern: &Pattern) -> Result<String> {
    if pattern.span == Span::MultiLine {
        return Err(unable("multi-line search is not supported"));
    }
    let text = match pattern.syntax {
        Syntax::Regex => pattern.text.clone(),
        Syntax::Literal => escaped(&pattern.text),
    };
    Ok(match pattern.case {
        LetterCase::Sensitive => text,
        LetterCase::Insensitive => format!("(?i){text}"),
        LetterCase::Smart if pattern.text.chars().any(char::is_uppercase) => text,
        LetterCase::Smart => format!("(?i){text}"),
    })
}

fn escaped(text: &str) -> String {
    let special = |letter: char| r"\.+*?()|[]{}^$#&-~".contains(letter);
    text.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}

fn unable(why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("this search is not supported by the backend: {why}"))
}

/// Matches, or the error message of the backend.
fn hits(answer: &Bound<'_, PyAny>) -> PyResult<Result<Vec<Hit>, String>> {
    if let Ok(said) = answer.extract::<String>() {
        return Ok(Err(said));
    }
    let mut all = Vec::new();
    for hit in answer.try_iter()? {
        let hit = hit?;
        all.push(Hit {
            path: hit.get_item("path")?.extract()?,
            number: hit.get_item("line_number")?.extract()?,
            text: hit.get_item("line")?.extract()?,
        });
    }
    Ok(Ok(all))
}
