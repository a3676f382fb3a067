//! The file calls with JSON in both directions.

use axum::Router;
use workden_core::{Backend, BackendExt};

use super::{Shared, answer::call};
use crate::calls::{
    Call, ChangeFile, Copy, Glob, Grep, Identify, List, MakeDir, NamesOf, Origins, OtherNames, ReadAttributes,
    ReadText, Remove, Rename, Resolve, SetAttributes, Stat,
};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route(
            Resolve::PATH,
            call(|files, c: Resolve| async move { files.resolve(&c.path, *c.symlink).await.map(Into::into) }),
        )
        .route(Stat::PATH, call(|files, c: Stat| async move { files.stat(&c.at).await }))
        .route(List::PATH, call(|files, c: List| async move { files.list(&c.at, &c.request).await }))
        .route(ReadText::PATH, call(|files, c: ReadText| async move { files.read_text(&c.at, *c.window).await }))
        .route(
            ChangeFile::PATH,
            call(|files, c: ChangeFile| async move { files.change(&c.at, &c.change, *c.expect, *c.most).await }),
        )
        .route(MakeDir::PATH, call(|files, c: MakeDir| async move { files.make_dir(&c.at).await }))
        .route(Remove::PATH, call(|files, c: Remove| async move { files.remove(&c.at, *c.what).await }))
        .route(Rename::PATH, call(|files, c: Rename| async move { files.rename(&c.from, &c.to, *c.if_exists).await }))
        .route(Copy::PATH, call(|files, c: Copy| async move { files.copy(&c.from, &c.to, *c.if_exists).await }))
        .route(Glob::PATH, call(|files, c: Glob| async move { files.glob(&c.at, &c.request).await }))
        .route(Grep::PATH, call(|files, c: Grep| async move { files.grep(&c.at, &c.request).await }))
        .route(
            ReadAttributes::PATH,
            call(|files, c: ReadAttributes| async move { files.attributes(&c.at, &c.prefix).await }),
        )
        .route(
            SetAttributes::PATH,
            call(|files, c: SetAttributes| async move { files.set_attributes(&c.at, &c.attributes).await }),
        )
        .route(OtherNames::PATH, call(|files, c: OtherNames| async move { files.other_names(&c.files).await }))
        .route(Identify::PATH, call(|files, c: Identify| async move { files.identify(&c.at).await }))
        .route(Origins::PATH, call(|files, _: Origins| async move { files.origins().await }))
        .route(NamesOf::PATH, call(|files, c: NamesOf| async move { files.names_of(&c.files).await }))
}
