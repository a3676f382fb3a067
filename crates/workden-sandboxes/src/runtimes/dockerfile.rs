//! Converts a runtime into a Dockerfile: a pure function of its fields.
//!
//! Invariant: one instruction is one line, and a value cannot become syntax. All commands use the exec form, so
//! quoting is JSON's; no line ends in a backslash; the builder does not expand variables.

use workden_core::Result;

use super::{PackageManager, RuntimeConfig};

/// Installs its arguments, and removes the package lists.
const APT: &str = "export DEBIAN_FRONTEND=noninteractive && apt-get update && \
                   apt-get install -y --no-install-recommends -- \"$@\" && rm -rf /var/lib/apt/lists/*";

impl RuntimeConfig {
    /// Returns the Dockerfile of its image; `None` for an image that is used as it is.
    ///
    /// ```
    /// use workden_sandboxes::runtimes::builtin;
    ///
    /// let dockerfile = builtin("python-web")?.dockerfile()?.unwrap_or_default();
    /// assert!(dockerfile.starts_with("FROM python:3.12-slim\n"));
    /// assert_eq!(builtin("python-minimal")?.dockerfile()?, None);
    /// # Ok::<(), workden_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an invalid runtime.
    pub fn dockerfile(&self) -> Result<Option<String>> {
        self.check()?;
        Ok(self.base_image.as_deref().map(|base| self.instructions(base)))
    }

    fn instructions(&self, base: &str) -> String {
        // First, so that the layers of a failed build can be identified.
        let mut lines = vec![format!("FROM {base}"), "LABEL workden=\"1\"".to_owned()];
        lines.extend(self.env_vars.iter().map(|(name, value)| format!("ENV {name}={}", quoted(value))));
        lines.extend(self.setup_commands.iter().map(|command| run(&["/bin/sh", "-c", command])));
        let directory = format!("WORKDIR {}", self.work_dir);
        if self.package_manager == PackageManager::Npm {
            // npm installs into the working directory.
            lines.push(directory);
            lines.extend(self.install());
        } else {
            lines.extend(self.install());
            lines.push(directory);
        }
        if let Some(user) = &self.user {
            lines.push(run(&["chown", user, &self.work_dir]));
            lines.push(format!("USER {user}"));
        }
        lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
    }

    fn install(&self) -> Option<String> {
        let installer: &[&str] = match self.package_manager {
            PackageManager::Pip => &["pip", "install", "--no-cache-dir", "--disable-pip-version-check", "--"],
            PackageManager::Npm => &["npm", "install", "--no-fund", "--no-audit", "--"],
            PackageManager::Apt => &["/bin/sh", "-c", APT, "apt"],
            PackageManager::Cargo => &["cargo", "install", "--"],
        };
        let words: Vec<&str> = installer.iter().copied().chain(self.packages.iter().map(String::as_str)).collect();
        (!self.packages.is_empty()).then(|| run(&words))
    }
}

/// Returns a `RUN` line in exec form, which no shell parses.
fn run(words: &[&str]) -> String {
    // Serialising strings does not fail.
    let words = serde_json::to_string(words).unwrap_or_default();
    // Builders with here-document support look for `<<` in every word of a line.
    format!("RUN {}", words.replace('<', "\\u003c"))
}

/// Quotes a value so that the builder does not expand it.
fn quoted(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('"');
    for each in value.chars() {
        if matches!(each, '"' | '\\' | '$') {
            quoted.push('\\');
        }
        quoted.push(each);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prelude::*};

    use super::*;

    /// Splits a file as a builder does: joins lines that end in a backslash, drops comments and empty lines.
    fn instructions(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        let mut open = String::new();
        for line in text.lines() {
            let line = line.trim_end();
            if open.is_empty() && (line.trim().is_empty() || line.trim_start().starts_with('#')) {
                continue;
            }
            match line.strip_suffix('\\') {
                Some(begun) => open += begun,
                None => all.push(std::mem::take(&mut open) + line),
            }
        }
        assert!(open.is_empty(), "the last line goes on: {text}");
        all
    }

    /// Returns the value of a quoted word, as a builder reads it; `None` if it is more than one word.
    fn unquoted(word: &str) -> Option<String> {
        let mut inner = word.strip_prefix('"')?.strip_suffix('"')?.chars();
        let mut value = String::new();
        while let Some(each) = inner.next() {
            match each {
                '"' | '$' => return None,
                '\\' => match inner.next()? {
                    next @ ('"' | '\\' | '$') => value.push(next),
                    next => value.extend(['\\', next]),
                },
                _ => value.push(each),
            }
        }
        Some(value)
    }

    #[test]
    fn an_example() {
        let runtime = RuntimeConfig {
            name: "example".into(),
            base_image: Some("python:3.12-slim".into()),
            packages: vec!["requests[socks]>=2,<3".into(), "torch>=2".into()],
            setup_commands: vec!["echo \"$HOME\" > /x && cat <<EOF \\".into(), "# a comment".into()],
            env_vars: [("A".to_owned(), "a \"b\" $C ${D} \\".to_owned())].into(),
            user: Some("1000:1000".into()),
            ..RuntimeConfig::default()
        };
        insta::assert_snapshot!(runtime.dockerfile().unwrap().unwrap(), @r##"
        FROM python:3.12-slim
        LABEL workden="1"
        ENV A="a \"b\" \$C \${D} \\"
        RUN ["/bin/sh","-c","echo \"$HOME\" > /x && cat \u003c\u003cEOF \\"]
        RUN ["/bin/sh","-c","# a comment"]
        RUN ["pip","install","--no-cache-dir","--disable-pip-version-check","--","requests[socks]>=2,\u003c3","torch>=2"]
        WORKDIR /workspace
        RUN ["chown","1000:1000","/workspace"]
        USER 1000:1000
        "##);
    }

    #[test]
    fn every_manager_gets_its_packages_as_words() {
        for (manager, package, expected) in [
            (
                PackageManager::Pip,
                "six",
                r#"RUN ["pip","install","--no-cache-dir","--disable-pip-version-check","--","six"]"#,
            ),
            (
                PackageManager::Npm,
                "@types/react",
                r#"RUN ["npm","install","--no-fund","--no-audit","--","@types/react"]"#,
            ),
            (PackageManager::Cargo, "ripgrep@14", r#"RUN ["cargo","install","--","ripgrep@14"]"#),
            (PackageManager::Apt, "git", r#" && rm -rf /var/lib/apt/lists/*","apt","git"]"#),
        ] {
            let packages = vec![package.to_owned()];
            let base_image = Some("x".to_owned());
            let runtime = RuntimeConfig {
                name: "x".into(),
                base_image,
                packages,
                package_manager: manager,
                ..Default::default()
            };
            let text = runtime.dockerfile().unwrap().unwrap();
            assert!(text.lines().any(|line| line.ends_with(expected)), "{text}");
            // npm installs into the working directory.
            let place = |word: &str| text.lines().position(|line| line.starts_with(word)).unwrap();
            assert_eq!(place("WORKDIR") < place("RUN"), manager == PackageManager::Npm, "{text}");
        }
    }

    /// Generates text with characters that are special in Dockerfiles, shells and JSON.
    fn nasty() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            prop::sample::select(vec![
                "\\",
                "\n",
                "\r\n",
                "\"",
                "'",
                "$",
                "${X}",
                "$X",
                "#",
                "<<EOF",
                "<<-E",
                "RUN x",
                "\nRUN x\n",
                "ONBUILD",
                "`",
                "# escape=`",
                " ",
                "\t",
                "]",
                "[",
                "--",
                "-",
                "=",
                ",",
                "\u{2028}",
                "\u{85}",
                "\0",
                "/",
                "..",
                "a",
                "1",
            ])
            .prop_map(str::to_owned),
        ];
        collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    prop_compose! {
        fn any_runtime()(
            base in prop_oneof![Just("python:3.12".to_owned()), nasty()],
            packages in collection::vec(prop_oneof![Just("six>=1,<2".to_owned()), nasty()], 0..3),
            manager in prop::sample::select(vec![
                PackageManager::Pip, PackageManager::Npm, PackageManager::Apt, PackageManager::Cargo,
            ]),
            setup_commands in collection::vec(nasty(), 0..3),
            env_vars in collection::btree_map(prop_oneof![Just("A".to_owned()), nasty()], nasty(), 0..3),
            work_dir in prop_oneof![Just("/w".to_owned()), nasty().prop_map(|text| format!("/{text}"))],
            user in proptest::option::of(prop_oneof![Just("1:1".to_owned()), nasty()]),
        ) -> RuntimeConfig {
            RuntimeConfig {
                name: "x".into(), base_image: Some(base), packages, package_manager: manager, setup_commands, env_vars,
                work_dir, user, ..RuntimeConfig::default()
            }
        }
    }

    /// Checks that each line is the expected instruction with the expected values.
    fn check_lines(runtime: &RuntimeConfig, text: &str) {
        let all = instructions(text);
        assert_eq!(all.len(), text.lines().count(), "{text}");
        let has_packages = !runtime.packages.is_empty();
        let user_lines = if runtime.user.is_some() { 2 } else { 0 };
        let expected =
            2 + runtime.env_vars.len() + runtime.setup_commands.len() + usize::from(has_packages) + 1 + user_lines;
        assert_eq!(all.len(), expected, "{text}");
        assert_eq!(all[0], format!("FROM {}", runtime.base_image.as_deref().unwrap()));
        for (line, (name, value)) in all[2..].iter().zip(&runtime.env_vars) {
            let word = line.strip_prefix(&format!("ENV {name}=")).unwrap();
            assert_eq!(unquoted(word).as_ref(), Some(value), "{line}");
        }
        let runs: Vec<Vec<String>> = all
            .iter()
            .filter_map(|line| line.strip_prefix("RUN "))
            .map(|words| serde_json::from_str(words).unwrap())
            .collect();
        for (words, command) in runs.iter().zip(&runtime.setup_commands) {
            assert_eq!(words, &["/bin/sh", "-c", command]);
        }
        if has_packages {
            let words = &runs[runtime.setup_commands.len()];
            assert!(words.ends_with(&runtime.packages), "{text}");
        }
        assert!(!all.iter().any(|line| line.starts_with("RUN") && line.contains("<<")), "{text:?}");
        assert!(!text.contains(|each: char| each.is_control() && !"\n\t".contains(each)), "{text:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn no_value_adds_an_instruction(runtime in any_runtime()) {
            if let Ok(Some(text)) = runtime.dockerfile() {
                check_lines(&runtime, &text);
            }
        }

        #[test]
        fn commands_and_values_come_out_as_they_went_in(
            command in nasty(),
            value in nasty(),
        ) {
            let runtime = RuntimeConfig {
                name: "x".into(), base_image: Some("b".into()), setup_commands: vec![format!("a{command}")],
                env_vars: [("A".to_owned(), value.clone())].into(), ..RuntimeConfig::default()
            };
            let is_line = |text: &str| !text.contains(|each: char| each.is_control() && each != '\t');
            prop_assert_eq!(runtime.check().is_ok(), is_line(&command) && is_line(&value));
            if let Ok(Some(text)) = runtime.dockerfile() {
                check_lines(&runtime, &text);
            }
        }
    }
}
