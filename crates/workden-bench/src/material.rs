//! The test data: a tree like that of a large Python project, a directory with many
//! entries, and two long text files. Created once, identical everywhere, and kept below `target`.
//!
//! Every text that a search looks for is also in files that it must not search: hidden and ignored
//! ones. Equal counts therefore mean that the same files were searched.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Failure, random::Random};

/// In three files.
pub(crate) const RARE: &str = "zyzzyva_quorum";
/// Some hundred lines match it.
pub(crate) const REGEX: &str = r"def \w+_handler\(";
/// More than 100,000 lines have it.
pub(crate) const FREQUENT: &str = "dispatch";
/// Once in the file that is edited.
pub(crate) const NEEDLE: &str = "NEEDLE_TO_EDIT";
/// Its replacement, which the next edit reverts.
pub(crate) const REPLACED: &str = "NEEDLE_REPLACED";

/// Changes with the generated data, so that an old tree is generated again.
const EDITION: u32 = 1;
const PACKAGES: usize = 60;
const DIRECTORIES_EACH: usize = 35;
const FILES_EACH: usize = 20;
const ENTRIES: usize = 10_000;
const LARGE_BYTES: u64 = 200_000_000;
const MEDIUM_BYTES: u64 = 10_000_000;
/// Names of the long files, each in its own directory.
pub(crate) const LARGE: &str = "large.txt";
pub(crate) const MEDIUM: &str = "medium.txt";

/// The paths of the test data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Material {
    edition: u32,
    home: PathBuf,
    /// All files in the tree.
    pub(crate) files: u64,
    /// Bytes in the tree.
    pub(crate) bytes: u64,
    /// Lines in the large file.
    pub(crate) large_lines: u64,
}

impl Material {
    /// Finds the data below `target`, or creates it.
    pub(crate) fn provide(target: &Path) -> Result<Self, Failure> {
        let home = target.join("bench-tree");
        let stamp = home.join("stamp.json");
        if let Ok(text) = fs::read_to_string(&stamp)
            && let Ok(material) = serde_json::from_str::<Self>(&text)
            && material.edition == EDITION
            && material.home == home
        {
            return Ok(material);
        }
        eprintln!("creating the tree in {}", home.display());
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        let mut material = Self { edition: EDITION, home, files: 0, bytes: 0, large_lines: 0 };
        let text = Text::new(&mut Random::new(1));
        make_tree(&mut material, &text)?;
        make_entries(&material.entries())?;
        material.large_lines = make_long(&material.large().join(LARGE), LARGE_BYTES, &text)?;
        make_long(&material.medium().join(MEDIUM), MEDIUM_BYTES, &text)?;
        fs::write(stamp, serde_json::to_string(&material)?)?;
        Ok(material)
    }

    /// The source tree.
    pub(crate) fn tree(&self) -> PathBuf {
        self.home.join("tree")
    }

    /// The directory with many entries.
    pub(crate) fn entries(&self) -> PathBuf {
        self.home.join("entries")
    }

    /// The directory of the large file.
    pub(crate) fn large(&self) -> PathBuf {
        self.home.join("large")
    }

    /// The file for the output of commands.
    pub(crate) fn output(&self) -> PathBuf {
        self.home.join("output.txt")
    }

    /// Copies the file to edit into its own directory.
    pub(crate) fn copy_to_edit(&self, who: &str) -> Result<PathBuf, Failure> {
        let dir = self.home.join(format!("edit-{who}"));
        fs::create_dir_all(&dir)?;
        fs::copy(self.medium().join(MEDIUM), dir.join(MEDIUM))?;
        Ok(dir)
    }

    fn medium(&self) -> PathBuf {
        self.home.join("medium")
    }
}

/// Lines that look like source code, without the words that are searched for.
pub(crate) struct Text {
    lines: Vec<String>,
}

impl Text {
    pub(crate) fn new(random: &mut Random) -> Self {
        let nouns = ["request", "session", "value", "record", "index", "buffer", "config", "token", "result", "node"];
        let verbs = ["load", "parse", "merge", "encode", "fetch", "update", "resolve", "build", "check", "render"];
        let lines = (0..4096).map(|_| {
            let (a, b, verb) = (*random.pick(&nouns), *random.pick(&nouns), *random.pick(&verbs));
            let number = random.below(1000);
            match random.below(9) {
                0 => format!("def {verb}_{a}({a}, {b}=None):\n"),
                1 => format!("    {a} = {verb}_{b}({b}, limit={number})\n"),
                2 => format!("    if {a} is None or len({b}) > {number}:\n"),
                3 => format!("        raise ValueError(f\"cannot {verb} {{{a}}}: {b} has {number} entries\")\n"),
                4 => format!("    for {a} in self._{b}_table.values():\n"),
                5 => format!("    # The {a} must be known before the {b}: see the notes on how to {verb}.\n"),
                6 => format!("        return self.{verb}({a}, key={b}.key, retries={})\n", number % 10),
                7 => format!("from package_{number}.{a} import {verb}_{b}\n"),
                _ => "\n".to_owned(),
            }
        });
        Self { lines: lines.collect() }
    }

    /// About `size` bytes, some with texts that the searches look for.
    pub(crate) fn source(&self, size: usize, random: &mut Random) -> String {
        let mut text = String::with_capacity(size + 200);
        while text.len() < size {
            text.push_str(random.pick::<String>(&self.lines));
            if random.once_in(55) {
                text.push_str(&format!("    self.{FREQUENT}(event, priority={})\n", random.below(9)));
            }
        }
        if random.once_in(90) {
            text.push_str(&format!("def request_{}_handler(request):\n    return None\n", random.below(100)));
        }
        text
    }
}

fn make_tree(material: &mut Material, text: &Text) -> Result<(), Failure> {
    let tree = material.tree();
    let random = &mut Random::new(2);
    let mut put = |path: PathBuf, content: &[u8]| -> Result<(), Failure> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        material.files += 1;
        material.bytes += content.len() as u64;
        Ok(fs::write(path, content)?)
    };
    put(tree.join(".git/HEAD"), b"ref: refs/heads/main\n")?;
    put(tree.join(".gitignore"), b"build/\n__pycache__/\n*.pyc\n")?;
    let decoy = format!("{RARE}\ndef a_handler(x):\n{FREQUENT}\n");
    for number in 0..300 {
        put(tree.join(format!("build/lib/module_{number}.py")), decoy.as_bytes())?;
        put(tree.join(format!(".git/objects/{:02x}/{number}", number % 256)), decoy.as_bytes())?;
    }
    for package in 0..PACKAGES {
        for directory in 0..DIRECTORIES_EACH {
            let mut place = tree.join(format!("package_{package:02}"));
            for level in 0..directory % 6 {
                place.push(format!("{}_{level}", ["core", "io", "web", "tests", "models", "views"][level]));
            }
            place.push(format!("part_{directory:02}"));
            for file in 0..FILES_EACH {
                let size = match random.below(100) {
                    0..=59 => 1_000 + random.below(3_000),
                    60..=89 => 4_000 + random.below(8_000),
                    90..=98 => 12_000 + random.below(20_000),
                    _ => 60_000 + random.below(60_000),
                };
                let ending = match file {
                    0..=14 => "py",
                    15 => "md",
                    16 => "json",
                    17 => "txt",
                    _ => "c",
                };
                let mut content = text.source(size, random);
                if (package, directory, file) == (7, 3, 1) || (package, file) == (41, 2) && directory < 2 {
                    content.push_str(&format!("    return {RARE}\n"));
                }
                put(place.join(format!("module_{file:02}.{ending}")), content.as_bytes())?;
            }
            put(place.join(".settings"), decoy.as_bytes())?;
            if directory.is_multiple_of(5) {
                put(place.join("__pycache__/module_00.pyc"), decoy.as_bytes())?;
                let image: Vec<u8> = (0..20_000).map(|_| (random.next() & 0xFF) as u8).chain([0; 16]).collect();
                put(place.join("picture.png"), &[b"\x89PNG\r\n\x1a\n\0\0", &image[..]].concat())?;
            }
        }
    }
    Ok(())
}

fn make_entries(dir: &Path) -> Result<(), Failure> {
    fs::create_dir_all(dir)?;
    for number in 0..ENTRIES {
        let path = dir.join(format!("entry_{number:05}"));
        if number.is_multiple_of(100) { fs::create_dir(path)? } else { fs::write(path, "x\n")? }
    }
    Ok(())
}

/// Writes a long text with one needle in the middle. Returns its number of lines.
fn make_long(path: &Path, bytes: u64, text: &Text) -> Result<u64, Failure> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let random = &mut Random::new(3);
    let mut file = BufWriter::new(File::create(path)?);
    let (mut written, mut lines, mut has_needle) = (0, 0, false);
    while written < bytes {
        let mut line = random.pick(&text.lines).clone();
        if !has_needle && written >= bytes / 2 {
            line = format!("here is the {NEEDLE}, once\n");
            has_needle = true;
        }
        file.write_all(line.as_bytes())?;
        written += line.len() as u64;
        lines += 1;
    }
    file.flush()?;
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_have_nothing_that_is_searched_for() {
        let text = Text::new(&mut Random::new(1));
        for line in &text.lines {
            for word in [RARE, "_handler(", FREQUENT, NEEDLE, REPLACED] {
                assert!(!line.contains(word), "{line}");
            }
        }
    }

    #[test]
    fn the_same_text_is_made_every_time() {
        let make = || Text::new(&mut Random::new(1)).source(10_000, &mut Random::new(2));
        assert_eq!(make(), make());
    }

    #[test]
    fn a_long_file_has_its_size_and_one_needle() {
        let home = std::env::temp_dir().join(format!("workden-bench-long-{}", std::process::id()));
        let path = home.join("long.txt");
        let lines = make_long(&path, 100_000, &Text::new(&mut Random::new(1))).unwrap();
        let content = fs::read_to_string(&path).unwrap();
        fs::remove_dir_all(&home).unwrap();
        assert!((100_000..100_200).contains(&content.len()));
        assert_eq!(content.lines().count() as u64, lines);
        assert_eq!(content.matches(NEEDLE).count(), 1);
    }
}
