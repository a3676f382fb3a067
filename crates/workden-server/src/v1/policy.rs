//! `/v1/sessions/{id}/policy`: the rules in force for a session, and how a verdict on a typed call comes about. Nothing is
//! run, and no question is asked.

use std::sync::Arc;

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{
    ToSchema,
    openapi::{Object, ObjectBuilder, schema::Type},
};
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::{
    Error, ErrorKind, Operation, Policy, Result, Ruleset, Verdict, VirtualPath,
    policy::{Action, CommandJudgement, PolicyLayer, ReasonKind},
};
use workden_core::{Op, Resolved};

use super::session::{KnownSession, NamedSession, OpenSession};
use crate::{
    api_error::ApiErrorBody,
    api_input::ApiJson,
    service::{Answer, Service},
    sessions::{SessionPolicy, requested},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(describe)).routes(routes!(explain))
}

/// The rules of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PolicyView {
    /// Every layer must permit a call: the strictest wins. Without layers, everything is allowed.
    layers: Vec<LayerView>,
}

/// Rules from one source.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LayerView {
    /// `service`, `tenant` or `session`.
    source: &'static str,
    /// The preset, if the layer is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    /// The rules by operation, as in the table `rules` of a `workden.toml`.
    #[schema(value_type = Object)]
    rules: Ruleset,
}

/// Show the policy of a session
///
/// The call is no use of the session, and does not start it.
#[utoipa::path(get, operation_id = "describe_policy", path = "/v1/sessions/{id}/policy", tag = "sessions",
    params(NamedSession),
    responses((status = 200, description = "Its layers", body = PolicyView)))]
pub(super) async fn describe(KnownSession { service, row, .. }: KnownSession) -> Answer<Json<PolicyView>> {
    let mut layers = Vec::new();
    if let Some(preset) = service.config().preset {
        let named = SessionPolicy { preset: Some(preset.name().to_owned()), rules: None };
        layers.extend(layers_of("service", &named)?);
    }
    if let Some(policy) = service.tenant_policy(&row.tenant).await? {
        layers.extend(layers_of("tenant", &policy)?);
    }
    if let Some(policy) = requested(&row)?.policy {
        layers.extend(layers_of("session", &policy)?);
    }
    Ok(Json(PolicyView { layers }))
}

fn layers_of(source: &'static str, policy: &SessionPolicy) -> Result<Vec<LayerView>> {
    let presets = policy.preset.iter().cloned().map(Some).chain([None]);
    let rulesets = policy.rulesets()?;
    Ok(rulesets.into_iter().zip(presets).map(|(rules, preset)| LayerView { source, preset, rules }).collect())
}

/// A call to explain.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallToExplain {
    /// `execute` for a command, or `read`, `write`, `edit`, `delete`, `glob`, `grep` or `ls` for a path.
    #[schema(schema_with = operation_names)]
    operation: Operation,
    /// The command line, or the path.
    #[schema(example = "git push origin main")]
    target: String,
}

fn operation_names() -> Object {
    let names = Operation::ALL.map(Operation::name);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).examples([json!("execute")]).build()
}

/// A verdict, and how it comes about.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Explanation {
    /// `allow`, `ask` or `deny`.
    #[schema(value_type = String)]
    action: Action,
    /// Why, in a sentence.
    why: String,
    /// What to do instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The programs that the command would run, each with its words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    programs: Vec<Vec<String>>,
    /// The decisions of each layer, in order.
    layers: Vec<LayerDecisions>,
}

/// What one layer says.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LayerDecisions {
    #[schema(value_type = String)]
    action: Action,
    /// Its reasons, the strictest first; empty if it has nothing to say.
    reasons: Vec<ReasonView>,
}

/// A reason of a layer.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReasonView {
    #[schema(value_type = String)]
    action: Action,
    /// `program`, `line`, `file`, `doubt`, `danger` or `path`.
    kind: &'static str,
    /// A program with its arguments, a path, a piece of the command.
    about: String,
    why: String,
    /// The pattern of the rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

/// Explain a verdict of the policy
///
/// Says whether a call would be allowed, asked about or denied, and by which rules. Runs nothing.
#[utoipa::path(post, operation_id = "explain_policy", path = "/v1/sessions/{id}/policy/explain", tag = "sessions",
    params(NamedSession), request_body = CallToExplain, responses(
        (status = 200, description = "The verdict", body = Explanation),
        (status = 400, description = "The path is invalid", body = ApiErrorBody),
    ))]
pub(super) async fn explain(session: OpenSession, ApiJson(call): ApiJson<CallToExplain>) -> Answer<Json<Explanation>> {
    let workspace = session.live.unrecorded();
    let (policy, directory) = (workspace.policy().clone(), workspace.working_directory().await?);
    // The analysis of a long command takes time.
    let explained = tokio::task::spawn_blocking(move || match call.operation {
        Operation::Execute => Ok(of_command(&policy, &call.target, &directory)),
        operation => VirtualPath::parse_from(&directory, &call.target).map(|path| of_path(&policy, operation, &path)),
    });
    let explained = explained.await.map_err(|_| Error::new(ErrorKind::Io, "cannot explain the verdict"))?;
    Ok(Json(explained?))
}

fn of_command(policy: &Policy, script: &str, directory: &VirtualPath) -> Explanation {
    let judged = policy.judge_command(script, directory);
    let programs = judged.analysis.invocations.iter();
    let programs = programs.map(|run| run.argv.iter().map(|word| word.shown().to_owned()).collect()).collect();
    let layers = alone(policy).map(|layer| {
        let judged = layer.judge_command(script, directory);
        LayerDecisions { action: judged.action(), reasons: reasons(&judged) }
    });
    explained(judged.verdict(), programs, layers.collect())
}

fn reasons(judged: &CommandJudgement) -> Vec<ReasonView> {
    let view = |reason: &workden::policy::Reason| ReasonView {
        action: reason.action,
        kind: match reason.kind {
            ReasonKind::Program(_) => "program",
            ReasonKind::Line => "line",
            ReasonKind::File(_) => "file",
            ReasonKind::Doubt => "doubt",
            ReasonKind::Danger => "danger",
        },
        about: reason.about.clone(),
        why: reason.why.clone(),
        rule: reason.rule.clone(),
    };
    let mut views: Vec<ReasonView> = judged.reasons.iter().map(view).collect();
    views.sort_by_key(|reason| std::cmp::Reverse(reason.action));
    views
}

fn of_path(policy: &Policy, operation: Operation, path: &VirtualPath) -> Explanation {
    let at = Resolved::literal(path.clone());
    let judge = |policy: &Policy| policy.judge(asked(operation, &at));
    let layers = alone(policy).map(|layer| {
        let (action, why, _) = told(judge(&layer));
        let rule = deciding_rule(&layer, operation, path);
        let reason = ReasonView { action, kind: "path", about: path.to_string(), why, rule };
        LayerDecisions { action, reasons: vec![reason] }
    });
    explained(judge(policy), Vec::new(), layers.collect())
}

/// Returns the call for an operation on a path.
fn asked(operation: Operation, at: &Resolved) -> Op<'_> {
    match operation {
        Operation::Read => Op::Read(at),
        Operation::Write => Op::Write(at),
        Operation::Edit => Op::Change(at),
        Operation::Delete => Op::Remove(at),
        Operation::Glob => Op::Glob(at),
        Operation::Grep => Op::Grep(at),
        Operation::Ls | Operation::Execute => Op::List(at),
    }
}

fn deciding_rule(layer: &Policy, operation: Operation, path: &VirtualPath) -> Option<String> {
    match layer.layers() {
        [PolicyLayer::Rules(rules)] => rules.decide_path(operation, path).rule().map(|rule| rule.pattern.clone()),
        _ => None,
    }
}

/// Returns each layer as a policy of its own.
fn alone(policy: &Policy) -> impl Iterator<Item = Policy> + '_ {
    policy.layers().iter().map(|layer| Policy::new().with(layer.clone()))
}

fn explained(verdict: Verdict, programs: Vec<Vec<String>>, layers: Vec<LayerDecisions>) -> Explanation {
    let (action, why, hint) = told(verdict);
    Explanation { action, why, hint, programs, layers }
}

fn told(verdict: Verdict) -> (Action, String, Option<String>) {
    let (action, error) = match verdict {
        Verdict::Allow => return (Action::Allow, "no rule objects".to_owned(), None),
        Verdict::Ask(error) => (Action::Ask, error),
        Verdict::Deny(error) => (Action::Deny, error),
    };
    (action, error.sentence().to_owned(), error.hint_text().map(str::to_owned))
}
