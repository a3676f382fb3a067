//! Changes to the content of a file, spoiled.

use workden_core::{
    Backend, Changed, Error, ErrorKind, Expect, Resolved, Result, Version, VirtualPath, limits,
    text::{Change, Outcome, Replacement, splice},
};

use super::{Broken, Spoil, pause};

impl Broken {
    pub(super) async fn spoiled_change(
        &self,
        at: &Resolved,
        change: Change,
        expect: Expect,
        most: u64,
    ) -> Result<Changed> {
        let path = &at.real;
        let before = self.content_of(at).await;
        let (change, expect) = match (self.spoil, change, &before) {
            (Spoil::Nothing, change, _) => {
                pause().await;
                (change, expect)
            }
            (Spoil::ChangeDisregardsExpectations, change, _) => (change, Expect::Anything),
            (Spoil::ChangePlansFirst, change, Some(before)) => {
                change.plan(path, before)?;
                (change, expect)
            }
            (Spoil::ChangeReadsThenWrites, change, Some(before)) => {
                return self.read_then_write(at, before, &change, expect).await;
            }
            (Spoil::ChangeMakesWhatIsMissing, change, None) => {
                self.inner.write(at, "".into(), Expect::Absent).await?;
                (change, Expect::Anything)
            }
            (Spoil::ChangeMakesTheFirstOnly, Change::Replace(mut series), _) => {
                series.truncate(1);
                (Change::Replace(series), expect)
            }
            (Spoil::ChangeKeepsWhatFits, Change::Replace(series), _) if series.len() > 1 => {
                return self.one_by_one(at, series).await;
            }
            (Spoil::ChangeTakesBinaryContent, change, Some(before)) if before.contains(&0) => {
                let text: Vec<u8> = before.iter().copied().filter(|byte| *byte != 0).collect();
                self.inner.write(at, text.into(), expect).await?;
                (change, Expect::Anything)
            }
            (Spoil::ChangeRefusesTheSame, Change::Replace(series), _)
                if series.iter().any(|one| one.old == one.new) =>
            {
                return Err(Error::new(ErrorKind::InvalidArgument, format!("`{path}` would stay as it is")));
            }
            (_, change, _) => (change, expect),
        };
        let changed = self.inner.change(at, &change, expect, most).await;
        if changed.is_err() && self.is(Spoil::ChangeLeavesATemporaryFile) {
            self.leave_something_behind().await?;
        }
        let mut changed = changed?;
        match self.spoil {
            Spoil::ChangeAddsANewline => {
                let after = self.content_of(at).await.unwrap_or_default();
                let written = self.inner.write(at, [&after[..], b"\n"].concat().into(), Expect::Anything).await?;
                changed.version = written.version;
            }
            Spoil::ChangeSaysAnotherPath => changed.path = VirtualPath::root(),
            Spoil::ChangeInventsVersions => changed.version = Version::of(path.as_str().as_bytes()),
            Spoil::ChangeMiscounts => {
                changed.outcome = match changed.outcome {
                    Outcome::Replaced(places) => Outcome::Replaced(places + 1),
                    Outcome::Lines(_) => Outcome::Lines(String::new()),
                }
            }
            _ => {}
        }
        Ok(changed)
    }

    /// A change that lets others come in between: what they wrote is lost.
    async fn read_then_write(&self, at: &Resolved, before: &[u8], change: &Change, expect: Expect) -> Result<Changed> {
        match expect {
            Expect::Absent => return Err(Error::already_exists("edit", &at.real)),
            Expect::Version(version) if Version::of(before) != version => {
                return Err(Error::conflict("edit", &at.real));
            }
            Expect::Anything | Expect::Version(_) => {}
        }
        let plan = change.plan(&at.real, before)?;
        let after = splice::apply_splices(before, &plan.splices)?;
        pause().await;
        let written = self.inner.write(at, after.into(), Expect::Anything).await?;
        Ok(Changed::new(written.path, written.version, plan.outcome))
    }

    /// A series that is not taken back when one of it fails.
    async fn one_by_one(&self, at: &Resolved, series: Vec<Replacement>) -> Result<Changed> {
        let mut places = 0;
        let mut last = Err(Error::not_found("edit", &at.real));
        for replacement in series {
            let mut changed = self
                .inner
                .change(at, &Change::Replace(vec![replacement]), Expect::Anything, limits::EDIT_BYTES)
                .await?;
            if let Outcome::Replaced(more) = changed.outcome {
                places += more;
            }
            changed.outcome = Outcome::Replaced(places);
            last = Ok(changed);
        }
        last
    }
}
