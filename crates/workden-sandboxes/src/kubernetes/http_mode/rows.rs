//! Rows of the server as entries. The server may send anything: only entries below the requested directory count.

use workden_core::{Entry, EntryKind, Link, NameForm, VirtualPath, directory_entry};

use super::messages::Row;

/// Returns the entries of a directory.
pub(super) fn of_directory(directory: &VirtualPath, rows: Vec<Row>) -> Vec<Entry> {
    rows.into_iter().filter_map(|row| child(directory, row)).collect()
}

/// Returns the entries that a search below a directory has found.
pub(super) fn below(directory: &VirtualPath, rows: Vec<Row>) -> Vec<Entry> {
    let found = |row: Row| {
        let path = if row.path.starts_with('/') { row.path.clone() } else { format!("{directory}/{}", row.path) };
        let path = VirtualPath::parse(&path).ok().filter(|path| path.is_within(directory) && path != directory)?;
        Some(entry(path, &row))
    };
    rows.into_iter().filter_map(found).collect()
}

fn child(directory: &VirtualPath, row: Row) -> Option<Entry> {
    let name = match row.name.as_str() {
        "" => row.path.trim_end_matches('/').rsplit('/').next()?.to_owned(),
        name => name.to_owned(),
    };
    let path = VirtualPath::parse(&format!("{directory}/{name}")).ok()?;
    (path.parent().as_ref() == Some(directory)).then(|| entry(path, &row))
}

fn entry(path: VirtualPath, row: &Row) -> Entry {
    if row.is_dir {
        return directory_entry(path);
    }
    Entry::new(path, EntryKind::File).size(row.size).link(Link::Direct).name(NameForm::Exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, path: &str) -> Row {
        Row { name: name.to_owned(), path: path.to_owned(), is_dir: false, size: Some(1) }
    }

    #[test]
    fn only_entries_below_the_requested_directory_count() {
        let directory = VirtualPath::parse("/w").unwrap();
        let rows = vec![row("a", "/other/a"), row("..", "/"), row("x/y", "/w/x/y"), row("", "/w/b"), row("", "")];
        let listed: Vec<_> = of_directory(&directory, rows).iter().map(|entry| entry.path.to_string()).collect();
        assert_eq!(listed, ["/w/a", "/w/b"]);
        let rows = vec![row("a", "/w/d/a"), row("p", "/etc/passwd"), row("q", "../q"), row("r", "d/r"), row("w", "/w")];
        let found: Vec<_> = below(&directory, rows).iter().map(|entry| entry.path.to_string()).collect();
        assert_eq!(found, ["/w/d/a", "/w/d/r"]);
    }
}
