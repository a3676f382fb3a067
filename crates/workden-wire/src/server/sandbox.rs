//! The calls for commands, jobs and the sandbox itself with JSON in both directions.

use axum::Router;
use workden_core::Sandbox;

use super::{Shared, answer::call};
use crate::{
    PROTOCOL,
    calls::{Call, Execute, Hello, HelloAnswer, IsolationOf, Jobs, KillJob, ReadJob, StartJob, Stop, UsageNow},
};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route(
            Hello::PATH,
            call(|sandbox, _: Hello| async move {
                let directory = sandbox.directory().await?;
                Ok(HelloAnswer { protocol: PROTOCOL, directory, isolation: sandbox.isolation().await? })
            }),
        )
        .route(Execute::PATH, call(|sandbox, c: Execute| async move { sandbox.execute(&c.request).await }))
        .route(StartJob::PATH, call(|sandbox, c: StartJob| async move { sandbox.start_job(&c.request).await }))
        .route(Jobs::PATH, call(|sandbox, _: Jobs| async move { sandbox.jobs().await }))
        .route(ReadJob::PATH, call(|sandbox, c: ReadJob| async move { sandbox.read_job(&c.id, &c.read).await }))
        .route(KillJob::PATH, call(|sandbox, c: KillJob| async move { sandbox.kill_job(&c.id).await }))
        .route(UsageNow::PATH, call(|sandbox, _: UsageNow| async move { sandbox.usage().await }))
        .route(IsolationOf::PATH, call(|sandbox, _: IsolationOf| async move { sandbox.isolation().await }))
        .route(Stop::PATH, call(|sandbox, _: Stop| async move { sandbox.stop().await }))
}
