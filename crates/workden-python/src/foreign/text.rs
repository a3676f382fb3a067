//! Texts through custom methods: a `read` may omit something, and an `edit` may refuse. Reading the bytes instead would
//! circumvent them.

use pyo3::prelude::*;
use workden_core::{
    Changed, Error, ErrorKind, Expect, Result, Version, VirtualPath,
    text::{Change, Excerpt, Extent, Occurrences, Outcome, Replacement, TextWindow, scan},
};
use workden_files::toolkit::in_memory;

use super::Foreign;

/// More lines than any text has.
const ALL_LINES: u64 = 1_000_000_000;

/// Whether a method exists and is custom: not an inherited native one, which would not call the overridden methods.
pub(super) fn is_own(object: &Bound<'_, PyAny>, method: &str) -> bool {
    let is_native = || object.py().import("workden._dual")?.call_method1("is_native", (object, method))?.is_truthy();
    object.hasattr(method).unwrap_or(false) && !is_native().unwrap_or(false)
}

impl Foreign {
    /// Returns the output of its `read`.
    pub(super) async fn shown(&self, path: &VirtualPath, window: TextWindow) -> Result<Excerpt> {
        let (offset, limit) = match window {
            TextWindow::Lines { offset, limit, .. } => (offset, limit),
            TextWindow::Chars { .. } => (0, ALL_LINES),
        };
        // Checked first, because it reports missing files more clearly.
        let content = self.content("read", path).await?;
        let said = self.call("read", (path.to_string(), offset, limit), |answer| answer.extract::<String>()).await?;
        if let Some(why) = said.strip_prefix("Error: ") {
            // The native error has a hint, for the same refusal.
            scan::excerpt(path, &&content[..], window)?;
            return Err(Error::new(ErrorKind::Io, format!("cannot read `{path}`: {why}")));
        }
        let (text, left) = unnumbered(&said, offset);
        let version = Version::of(&content);
        if let TextWindow::Chars { .. } = window {
            return Ok(scan::excerpt(path, &text.as_bytes(), window)?.version(version));
        }
        let shown = if text.is_empty() { 0 } else { text.split('\n').count() as u64 };
        let extent = Extent::Lines { offset, shown, total: offset + shown + left };
        Ok(Excerpt::new(text, "utf-8", extent).version(version))
    }

    /// Replaces text with its `edit`.
    pub(super) async fn edited(
        &self,
        path: &VirtualPath,
        replacement: &Replacement,
        expect: Expect,
        most: u64,
    ) -> Result<Changed> {
        let Replacement { old, new, occurrences } = replacement;
        let all = *occurrences == Occurrences::All;
        let change = Change::Replace(vec![replacement.clone()]);
        match expect {
            Expect::Anything => {}
            Expect::Absent => return Err(Error::already_exists("edit", path)),
            Expect::Version(version) => {
                if Version::of(&self.content("edit", path).await?) != version {
                    return Err(Error::conflict("edit", path));
                }
            }
        }
        let arguments = (path.to_string(), old.clone(), new.clone(), all);
        let (error, places) = self
            .call("edit", arguments, |answer| {
                let error = answer.getattr("error")?.extract::<Option<String>>()?;
                let places = answer.getattr("occurrences").and_then(|places| places.extract::<Option<u64>>());
                Ok((error, places.unwrap_or_default()))
            })
            .await?;
        let content = self.content("edit", path).await?;
        match error {
            None => {
                let outcome = Outcome::Replaced(places.unwrap_or(1));
                Ok(Changed::new(path.clone(), Version::of(&content), outcome))
            }
            Some(said) => {
                // The native error has more details, for the same refusal.
                in_memory::edit(path, &content, &change, Expect::Anything, most)?;
                Err(Error::new(ErrorKind::Io, format!("cannot edit `{path}`: {said}")))
            }
        }
    }
}

/// Parses the lines of a numbered text, and how many are left. A text without numbers is taken unchanged.
fn unnumbered(said: &str, offset: u64) -> (String, u64) {
    let (body, left) = match said.rsplit_once("\n\n... (") {
        Some((body, footer)) => match footer.strip_suffix(" more lines)").map(str::parse) {
            Some(Ok(left)) => (body, left),
            _ => (said, 0),
        },
        None => (said, 0),
    };
    let lines = body.split('\n').zip(offset + 1..).map(|(line, number)| {
        let (numbered, rest) = line.split_once('\t')?;
        (numbered.trim().parse() == Ok(number)).then_some(rest)
    });
    match lines.collect::<Option<Vec<_>>>() {
        Some(lines) => (lines.join("\n"), left),
        None => (body.strip_suffix('\n').unwrap_or(body).to_owned(), left),
    }
}
