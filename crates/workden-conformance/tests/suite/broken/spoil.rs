//! The ways in which a backend can be wrong. Each breaks one promise of the contract and, as far
//! as it can, keeps the others.

use workden_core::ErrorKind;

/// What is wrong with a [`Broken`](super::Broken) backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoil {
    /// Nothing is, but reading and writing let others go first.
    Nothing,
    /// Errors of one kind come as `Io`.
    Kind(ErrorKind),
    /// Errors do not say the path.
    ErrorsAreVague,
    /// Errors quote whatever they are about at full length.
    ErrorsAreEndless,

    ResolveForgetsWhatWasTyped,
    ResolveMakesDirectories,

    StatAddsToSizes,
    StatGivesDirectoriesASize,
    StatTakesDirectoriesForFiles,
    StatGoesBackInTime,
    StatPanics,

    ListIsReversed,
    ListShowsAllLevels,
    ListHidesDotNames,
    ListKeepsEverything,
    ListDisregardsRules,
    ListDisregardsTheView,
    ListForgetsSizes,
    ListShowsSomethingOfItsOwn,

    ReadDropsCarriageReturns,
    ReadDropsFinalNewlines,
    ReadStopsAt64KiB,
    ReadDisregardsOffsets,
    ReadRefusesPartsPastTheEnd,
    ReadHasNoCeiling,
    ReadSaysTheSizeOfThePart,

    TextSkipsALine,
    TextDisregardsTheLimit,
    TextHasNoCeiling,
    TextIsTakenForUtf8,
    TextDropsCarriageReturns,
    TextCountsBytes,
    TextOfNothingIsAnError,

    WriteDisregardsExpectations,
    WriteAddsANewline,
    WriteConvertsLineEndings,
    WriteAppends,
    WriteMakesNoDirectories,
    WriteKeepsHalfAStream,
    WriteTakesTheFirstPiece,
    WriteSaysNothingWasThere,
    WriteInventsVersions,
    WriteLeavesATemporaryFile,
    WriteMakesWhatItExpects,
    WriteChecksThenWrites,
    WriteIsTorn,

    PatchDisregardsTheBase,
    PatchFitsSplices,
    PatchAddsANewline,
    PatchSaysNothingWasThere,

    MakeDirMakesOnlyTheLast,
    MakeDirTwiceFails,

    RemoveTakesTrees,
    RemoveTakesSimilarNames,
    RemoveDoesNothing,
    RemoveTakesEmptyParents,
    RemoveEmptiesTheRoot,

    RenameLeavesTheOld,
    RenameAlwaysReplaces,
    RenameLosesEmptyDirectories,
    RenameReplacesDirectories,
    RenameIntoItselfLoses,
    RenameToItselfRemoves,

    CopyRemovesTheOriginal,
    CopyAlwaysReplaces,
    CopySaysNothingWasThere,
    CopyStaysTied,
    CopyOntoItselfEmpties,

    GlobMatchesAtAnyDepth,
    GlobTakesSignsLiterally,
    GlobStartsAtTheRoot,
    GlobSkipsHiddenNames,
    GlobShowsDirectories,
    GlobGoesByPath,
    GlobForgetsSizes,
    GlobKeepsEverything,
    GlobDisregardsTime,
    GlobDisregardsRules,
    GlobDisregardsTheView,
    GlobDisregardsIgnoreFiles,
    GlobTakesAnyPattern,

    GrepCountsLinesFromZero,
    GrepTakesLiteralsForExpressions,
    GrepDisregardsCase,
    GrepDisregardsContext,
    GrepStaysWithinLines,
    GrepDisregardsMaxCount,
    GrepShowsWholeLines,
    GrepTakesAnyPattern,
    GrepGivesUpOnLongLines,
    GrepGivesUpOnEncodings,
    GrepIsUnordered,
    GrepSearchesHiddenFiles,
    GrepTreatsNamedFilesLikeOthers,
    GrepDisregardsFilters,
    GrepForgetsWhatItSkipped,
    GrepKeepsEverything,
    GrepAlwaysShowsLines,
    GrepDisregardsTheCeiling,
    GrepDisregardsTime,
    GrepDisregardsRules,
    GrepKnowsNoNamedFileInRules,
    GrepDisregardsTheView,
    GrepDisregardsIgnoreFiles,
    GrepIgnoresOutsideRepositories,
    GrepIgnoresOnlyFromTheStart,
    GrepStartsAtTheRoot,
}
