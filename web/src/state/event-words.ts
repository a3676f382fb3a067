// Events in words: what was called, on what, and what became of it.

import type { CallData, LoggedEvent } from "../api/types";
import type { IconName } from "../ui/Icon.svelte";
import { visible } from "../ui/visible-text";

export type Tone = "good" | "ask" | "bad" | "info" | "plain";

export interface EventWords {
  verb: string;
  object: string;
  outcome: string;
  tone: Tone;
  icon: IconName;
}

const ICONS: Record<string, IconName> = {
  execute: "terminal",
  spawn: "terminal",
  start_job: "terminal",
  read: "file",
  write: "file",
  edit: "changes",
  delete: "trash",
  list: "files",
  glob: "search",
  grep: "search",
};

export function callOf(event: LoggedEvent): CallData | undefined {
  return event.kind === "call" ? (event.data as unknown as CallData) : undefined;
}

export function wordsOf(event: LoggedEvent): EventWords {
  const call = callOf(event);
  if (call) return callWords(call);
  const text = (name: string) => visible(String(event.data[name] ?? ""));
  const words = (verb: string, object: string, tone: Tone, icon: IconName): EventWords => ({ verb, object, outcome: "", tone, icon });
  switch (event.kind) {
    case "session_created":
      return words("created", `runtime ${text("runtime")}`, "info", "plus");
    case "session_paused":
      return words("paused", "", "info", "pause");
    case "session_resumed":
      return words("resumed", "", "info", "play");
    case "session_ended":
      return words("ended", "its time was over", "info", "stop");
    case "session_deleted":
      return words("deleted", "", "info", "trash");
    case "session_failed":
      return words("failed", text("error"), "bad", "close");
    case "approval_requested":
      return words("asked", text("description"), "ask", "approvals");
    case "approval_answered": {
      const answer = event.data["answer"] as { decision?: string; scope?: string; note?: string } | undefined;
      const isYes = answer?.decision === "approve";
      const note = answer?.note ? `: ${visible(answer.note)}` : "";
      return words(isYes ? "approved" : "denied", `${answer?.scope ?? "once"}${note}`, isYes ? "good" : "bad", "approvals");
    }
    case "code_run":
      return words("ran code", text("code"), "plain", "terminal");
    case "command_stopped":
      return words("stopped", text("command"), "ask", "stop");
    case "port_published":
      return words("published", `port ${text("port")}`, "ask", "ports");
    case "port_unpublished":
      return words("made private", `port ${text("port")}`, "info", "ports");
    case "key_created":
      return words("key created", `${text("key")} ${text("label")}`, "info", "admin");
    case "key_revoked":
      return words("key revoked", text("key"), "info", "admin");
    case "tenant_set":
      return words("tenant set", "", "info", "admin");
    default:
      return words(visible(event.kind.replaceAll("_", " ")), "", "plain", "timeline");
  }
}

function callWords(call: CallData): EventWords {
  const paths = call.paths.map((path) => visible(path.typed)).join(" → ");
  const { outcome, tone } = outcomeOf(call);
  const verb = { spawn: "start", start_job: "job" }[call.call] ?? call.call;
  return {
    verb: visible(verb),
    object: call.command === undefined ? paths : visible(call.command),
    outcome,
    tone,
    icon: ICONS[call.call] ?? "file",
  };
}

function outcomeOf(call: CallData): { outcome: string; tone: Tone } {
  const { outcome } = call;
  if (outcome === "abandoned") return { outcome: "given up", tone: "plain" };
  if (outcome === "allowed" || outcome === "approved") {
    if (call.exit_code) return { outcome: `exit ${call.exit_code}`, tone: "bad" };
    return { outcome: outcome === "approved" ? "approved" : call.exit_code === 0 ? "exit 0" : "ok", tone: "good" };
  }
  if ("refused" in outcome) return { outcome: "refused", tone: "ask" };
  return { outcome: `failed: ${visible(outcome.failed.replaceAll("_", " "))}`, tone: "bad" };
}
