//! `GroupPlan`: which control groups a sandbox needs, and where they can be made.

use super::{
    created::new_name,
    group::{Counted, Group, GroupLimits},
    hierarchies::OwnGroups,
    v1, v2,
};
use crate::config::CgroupJoin;

/// The groups to create, and where.
pub(crate) struct GroupPlan {
    wanted: GroupLimits,
    counted: Counted,
    owner: u32,
    /// The groups of this process, or why they are unknown. `None` when no limit needs a group.
    place: Option<Result<OwnGroups, String>>,
}

impl GroupPlan {
    /// Plans the groups for these limits. `owner` is the user who starts the commands.
    pub(crate) fn new(wanted: GroupLimits, counted: Counted, owner: u32) -> Self {
        let place = (wanted != GroupLimits::default()).then(OwnGroups::read);
        Self { wanted, counted, owner, place }
    }

    /// Returns whether the keeper has to start in a group of its own, which then must exist before the keeper.
    pub(crate) fn has_room_for_keeper(&self) -> bool {
        match &self.place {
            // Version 2 is in use; the location of the groups is not needed yet.
            Some(Ok(own)) if !own.all_in_version1() => own.hierarchies().is_ok_and(|found| found.unified_limits()),
            _ => false,
        }
    }

    /// Creates the groups. Limits that fail carry the reason.
    pub(crate) fn make(&self) -> Group {
        let Self { wanted, counted, owner, ref place } = *self;
        let mut group = Group { counted, ..Group::default() };
        let Some(place) = place else { return group };
        // Skip version 2 when it has no limiting controller.
        let all_in_version1 = place.as_ref().is_ok_and(OwnGroups::all_in_version1);
        match place.as_ref().map_err(Clone::clone).and_then(OwnGroups::hierarchies) {
            Err(reason) => {
                group.memory = wanted.memory.map(|_| Err(reason.clone()));
                group.cpus = wanted.cpus.map(|_| Err(reason.clone()));
                group.processes = wanted.processes.map(|_| Err(reason));
                return group;
            }
            Ok(hierarchies) if !all_in_version1 && hierarchies.unified_limits() => {
                v2::fill(&mut group, &hierarchies, &new_name(), wanted, owner);
            }
            Ok(hierarchies) => v1::fill(&mut group, &hierarchies, &new_name(), wanted),
        }
        if ![&group.memory, &group.cpus, &group.processes].into_iter().any(|held| matches!(held, Some(Ok(())))) {
            group.take_made().remove();
            (group.join, group.keeper) = (CgroupJoin::None, None);
        }
        group
    }
}
