// The form of a new session as a request, and the request in three languages.

import type { NewSession } from "../../api/types";

export interface SessionForm {
  name: string;
  runtime: string;
  memory: string;
  cpus: string;
  pids: string;
  network: string;
  directory: string;
  idle: string;
  lifetime: string;
  atEnd: "delete" | "pause";
  env: string;
  labels: string;
  preset: string;
  rules: string;
}

export function requestOf(form: SessionForm): { session: NewSession } | { problem: string } {
  const session: NewSession = {};
  for (const name of ["name", "runtime", "memory", "network", "directory"] as const) {
    const value = form[name].trim();
    if (value) session[name] = value;
  }
  const numbers = { cpus: form.cpus, pids: form.pids, idle_seconds: form.idle, lifetime_seconds: form.lifetime };
  for (const [name, text] of Object.entries(numbers)) {
    if (!text.trim()) continue;
    const value = Number(text);
    if (!Number.isFinite(value)) return { problem: `invalid ${name}: \`${text}\` is not a number` };
    session[name as keyof typeof numbers] = value;
  }
  if (form.atEnd === "pause") session.at_end = "pause";
  const env = pairs(form.env, "\n");
  const labels = pairs(form.labels, ",");
  if (!env) return { problem: "invalid variables: write NAME=value, one a line" };
  if (!labels) return { problem: "invalid labels: write them like team=blue, task=42" };
  if (Object.keys(env).length > 0) session.env = env;
  if (Object.keys(labels).length > 0) session.labels = labels;
  try {
    const rules = form.rules.trim() ? (JSON.parse(form.rules) as Record<string, unknown>) : undefined;
    if (form.preset || rules) session.policy = { ...(form.preset ? { preset: form.preset } : {}), ...(rules ? { rules } : {}) };
  } catch {
    return { problem: "invalid rules: they are not JSON" };
  }
  return { session };
}

function pairs(text: string, between: string): Record<string, string> | undefined {
  const all: Record<string, string> = {};
  for (const pair of text.split(between).map((pair) => pair.trim()).filter(Boolean)) {
    const at = pair.indexOf("=");
    if (at < 1) return undefined;
    all[pair.slice(0, at).trim()] = pair.slice(at + 1);
  }
  return all;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function asCurl(url: string, session: NewSession): string {
  return `curl -H "Authorization: Bearer $KEY" ${url}/v1/sessions \\\n  --json ${quoted(JSON.stringify(session))}`;
}

export function asPython(url: string, session: NewSession): string {
  return `import os, httpx

session = httpx.post(
    "${url}/v1/sessions",
    headers={"Authorization": f"Bearer {os.environ['KEY']}"},
    json=${python(session)},
).json()`;
}

/** JSON as a Python value. */
function python(value: unknown): string {
  return JSON.stringify(value, null, 4)
    .replace(/^(\s*(?:"[^"]*": )?)(true|false|null)(,?)$/gm, (_, before: string, word: string, after: string) =>
      before + { true: "True", false: "False", null: "None" }[word as "true"] + after,
    )
    .replaceAll("\n", "\n    ");
}

/** `workden run` creates the session of a name when it is needed; what it has no option for is said. */
export function asCommandLine(url: string, session: NewSession): string {
  const line = ["WORKDEN_API_KEY=$KEY workden run --remote", url];
  if (session.name) line.push("--session", quoted(session.name));
  const needsMore = Object.keys(session).some((name) => name !== "name");
  const note = needsMore ? "# The other options are those of the session: create it by curl or Python, and name it here.\n" : "";
  return `${note}${line.join(" ")} -- bash`;
}
