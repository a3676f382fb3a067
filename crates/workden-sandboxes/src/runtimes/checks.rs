//! Validates the fields of a runtime.
//!
//! Invariant: a value that passes stays a plain value in a Dockerfile and in the options of a container. Doubtful
//! values are rejected, with a hint about valid ones.

use workden_core::{Error, Result};

use super::{
    PackageManager, RuntimeConfig,
    field_errors::{shown, wrong},
    image_reference, packages,
};

/// Longest name, which becomes a part of a tag.
const LONGEST_NAME: usize = 64;
/// Longest value of a variable, setup command or path in bytes. A line of a Dockerfile ends at 64 KB.
const LONGEST_VALUE: usize = 16 * 1024;
/// Longest list of packages in bytes, which share one line.
const LONGEST_LIST: usize = 32 * 1024;

impl RuntimeConfig {
    /// Checks the fields. Does not check that images or packages exist.
    ///
    /// ```
    /// use workden_sandboxes::runtimes::RuntimeConfig;
    ///
    /// let mut runtime = RuntimeConfig { name: "mine".into(), ..RuntimeConfig::default() };
    /// runtime.base_image = Some("python:3.12-slim".into());
    /// runtime.packages = vec!["requests[socks]>=2,<3".into()];
    /// assert!(runtime.check().is_ok());
    /// runtime.packages = vec!["x\nRUN rm -rf /".into()];
    /// assert!(runtime.check().is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidArgument`, with the field and its valid values.
    pub fn check(&self) -> Result<()> {
        name(&self.name)?;
        let known = |error: Error| self.told(&error);
        self.check_image().map_err(known)?;
        packages_of(self.package_manager, &self.packages).map_err(known)?;
        self.setup_commands.iter().try_for_each(|command| setup_command(command)).map_err(known)?;
        self.env_vars.iter().try_for_each(|(name, value)| variable(name, value)).map_err(known)?;
        work_dir(&self.work_dir).map_err(known)?;
        self.user.as_deref().map_or(Ok(()), user).map_err(known)
    }

    fn check_image(&self) -> Result<()> {
        match (&self.image, &self.base_image) {
            (Some(_), Some(_)) => Err(wrong(
                "it has both `image` and `base_image`",
                "set one of them: `image` is used as it is; packages are added to `base_image`",
            )),
            (None, None) => Err(wrong(
                "it has neither `image` nor `base_image`",
                "set image = \"python:3.12-slim\" to use it as it is, or base_image = \"...\" to add packages",
            )),
            (Some(image), None) => {
                let added =
                    [("packages", self.packages.is_empty()), ("setup_commands", self.setup_commands.is_empty())];
                if let Some((field, _)) = added.into_iter().find(|(_, is_empty)| !is_empty) {
                    let why = format!("it has `{field}`, and an `image` that is used as it is");
                    return Err(wrong(&why, "rename it to `base_image` to build an image from it"));
                }
                image_reference::check(image)
            }
            (None, Some(base)) => image_reference::check(base),
        }
    }

    /// Adds the name of the runtime to an error.
    fn told(&self, error: &Error) -> Error {
        let told = Error::new(error.kind(), format!("invalid runtime `{}`: {}", self.name, error.sentence()));
        match error.hint_text() {
            Some(hint) => told.hint(hint),
            None => told,
        }
    }
}

fn name(name: &str) -> Result<()> {
    let allowed = |each: char| each.is_ascii_lowercase() || each.is_ascii_digit() || "._-".contains(each);
    let begins = name.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
    if begins && name.len() <= LONGEST_NAME && name.chars().all(allowed) {
        return Ok(());
    }
    let why = match name {
        "" => "a runtime has no name".to_owned(),
        _ => format!("invalid runtime name `{}`", shown(name)),
    };
    Err(wrong(&why, "use at most 64 lower-case letters, digits, `.`, `_` and `-`, starting with a letter or digit"))
}

fn packages_of(manager: PackageManager, all: &[String]) -> Result<()> {
    all.iter().try_for_each(|package| packages::check(manager, package))?;
    if all.iter().map(|package| package.len() + 3).sum::<usize>() > LONGEST_LIST {
        let hint = "install them in a custom base image, or list them in a file that a setup command fetches";
        return Err(wrong("too many packages for one line of a Dockerfile", hint));
    }
    Ok(())
}

fn setup_command(command: &str) -> Result<()> {
    one_line("a setup command", command)?;
    if command.trim().is_empty() {
        return Err(wrong("a setup command is empty", "leave it out"));
    }
    if command.trim_start().starts_with('-') {
        let why = format!("the setup command `{}` starts with `-`, which a shell reads as an option", shown(command));
        return Err(wrong(&why, "start with the program: `apt-get update`"));
    }
    Ok(())
}

fn variable(name: &str, value: &str) -> Result<()> {
    let allowed = |each: char| each.is_ascii_alphanumeric() || each == '_';
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !begins || name.len() > 256 || !name.chars().all(allowed) {
        let why = format!("invalid variable name `{}`", shown(name));
        return Err(wrong(&why, "use letters, digits and `_`, not starting with a digit"));
    }
    one_line(&format!("the variable `{name}`"), value)
}

/// Checks that a value stays on its line.
fn one_line(what: &str, value: &str) -> Result<()> {
    if let Some(each) = value.chars().find(|each| each.is_control() && *each != '\t') {
        let why =
            format!("{what} contains {}", if each == '\n' { "a newline".to_owned() } else { format!("{each:?}") });
        return Err(wrong(&why, "use one line without control characters"));
    }
    if value.len() > LONGEST_VALUE {
        return Err(wrong(&format!("{what} is longer than 16 KB"), "move it into a file in a base image"));
    }
    Ok(())
}

fn work_dir(place: &str) -> Result<()> {
    let allowed = |each: char| each.is_alphanumeric() || "/._-+@".contains(each);
    let is_plain = place.len() <= 1024 && place.chars().all(allowed);
    let stays = !place.split('/').any(|part| part == ".." || part == ".");
    if place.starts_with('/') && is_plain && stays && !place.trim_matches('/').is_empty() {
        return Ok(());
    }
    let why = format!("invalid working directory `{}`", shown(place));
    Err(wrong(&why, "use an absolute path below `/` of letters, digits and `._-+@`, without `..`, like /workspace"))
}

fn user(user: &str) -> Result<()> {
    // The largest id that every system supports.
    let id = |part: &str| part.bytes().all(|each| each.is_ascii_digit()) && part.parse::<i32>().is_ok();
    let begins = user.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let named =
        begins && user.len() <= 32 && user.chars().all(|each| each.is_ascii_alphanumeric() || "._-".contains(each));
    if named || id(user) || user.split_once(':').is_some_and(|(uid, gid)| id(uid) && id(gid)) {
        return Ok(());
    }
    Err(wrong(&format!("invalid user `{}`", shown(user)), "use a name, a uid, or `uid:gid`: node, 1000, 1000:1000"))
}

#[cfg(test)]
mod tests {
    use workden_core::ErrorKind;

    use super::*;

    fn base() -> RuntimeConfig {
        RuntimeConfig { name: "mine".into(), base_image: Some("python:3.12-slim".into()), ..RuntimeConfig::default() }
    }

    /// Returns the error of a valid runtime after one change.
    fn refused(change: impl FnOnce(&mut RuntimeConfig)) -> Error {
        let mut runtime = base();
        assert_eq!(runtime.check(), Ok(()));
        change(&mut runtime);
        let error = runtime.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.hint_text().is_some(), "{error}");
        assert!(!error.to_string().contains(|each: char| each.is_control() && each != '\n'), "{error:?}");
        error
    }

    #[test]
    fn names_are_parts_of_tags() {
        for fine in ["a", "python-web", "0x", "a.b_c-d", &"a".repeat(64)] {
            assert_eq!(name(fine), Ok(()), "{fine}");
        }
        for wrong in ["", "A", "-a", ".a", "_a", "a b", "a/b", "a:b", "a\n", "ä", &"a".repeat(65)] {
            assert!(name(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn there_is_exactly_one_image() {
        let both = refused(|runtime| runtime.image = Some("x".into()));
        assert!(both.sentence().starts_with("invalid runtime `mine`: it has both"), "{both}");
        assert!(refused(|runtime| runtime.base_image = None).sentence().contains("neither"));
        let as_is = |runtime: &mut RuntimeConfig| runtime.image = runtime.base_image.take();
        for (field, change) in [
            ("packages", &(|runtime: &mut RuntimeConfig| runtime.packages = vec!["six".into()]) as &dyn Fn(&mut _)),
            ("setup_commands", &|runtime: &mut RuntimeConfig| runtime.setup_commands = vec!["true".into()]),
        ] {
            let error = refused(|runtime| {
                as_is(runtime);
                change(runtime);
            });
            assert!(error.sentence().contains(&format!("`{field}`")), "{error}");
        }
    }

    #[test]
    fn commands_and_variables_stay_on_their_line() {
        for wrong in ["a\nRUN b", "a\rb", "a\0b", "\u{1b}[2J", "a\u{85}b", &"x".repeat(20_000)] {
            refused(|runtime| runtime.setup_commands = vec![wrong.into()]);
            refused(|runtime| drop(runtime.env_vars.insert("A".into(), wrong.into())));
        }
        for wrong in ["", "  ", "-x", " --login"] {
            refused(|runtime| runtime.setup_commands = vec![wrong.into()]);
        }
        for wrong in ["", "1A", "A-B", "A B", "A=B", "Ä", "A\n", "$A"] {
            refused(|runtime| drop(runtime.env_vars.insert(wrong.into(), "x".into())));
        }
        let mut fine = base();
        fine.setup_commands = vec!["echo 'a' \"$X\" && b | c > d \\".into()];
        fine.env_vars.insert("_a1".into(), "a \"b\" $C \\\t#".into());
        assert_eq!(fine.check(), Ok(()));
    }

    #[test]
    fn a_working_directory_is_plain_and_absolute() {
        for wrong in [
            "", "/", "//", "a", "./a", "/a/..", "/../a", "/a/./b", "/a b", "/a;b", "/a$b", "/a`b`", "/a\nb", "/a:b",
            "/a,b", "/a\"", "/a\\", "/a*", "/a#",
        ] {
            refused(|runtime| runtime.work_dir = wrong.into());
        }
        for fine in ["/workspace", "/srv/a.b/c-d_e+f@g", "/app/"] {
            assert_eq!(work_dir(fine), Ok(()), "{fine}");
        }
    }

    #[test]
    fn a_user_is_a_name_or_numbers() {
        for wrong in
            ["", "-1", "a b", "a:b", "1000:staff", "1:2:3", "$X", "a\n", "99999999999", ":", "1:", "+1", "1:+1"]
        {
            refused(|runtime| runtime.user = Some(wrong.into()));
        }
        for fine in ["node", "_apt", "0", "1000", "1000:1000", "www-data"] {
            assert_eq!(user(fine), Ok(()), "{fine}");
        }
    }

    #[test]
    fn packages_fit_on_a_line() {
        let many = (0..2000).map(|nth| format!("package-with-a-name-{nth}")).collect();
        assert!(refused(|runtime| runtime.packages = many).sentence().contains("too many"));
    }
}
