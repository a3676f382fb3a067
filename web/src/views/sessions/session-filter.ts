// The search field of the sessions: words are looked for in names and ids; `label=value`, `state:paused`, `runtime:base`
// and `tenant:blue` narrow.

import type { Session } from "../../api/types";

export function filterSessions(sessions: readonly Session[], typed: string): Session[] {
  const tests = typed.toLowerCase().split(/\s+/).filter(Boolean).map(testOf);
  const found = sessions.filter((session) => tests.every((test) => test(session)));
  // The newest first; ids have no order.
  return found.sort((one, other) => other.created_at.localeCompare(one.created_at) || one.id.localeCompare(other.id));
}

function testOf(word: string): (session: Session) => boolean {
  const [, field, wanted = ""] = /^(state|runtime|tenant):(.*)$/.exec(word) ?? [];
  if (field === "state" || field === "runtime" || field === "tenant") return (session) => session[field].toLowerCase().startsWith(wanted);
  const equals = word.indexOf("=");
  if (equals > 0) {
    const [key, value] = [word.slice(0, equals), word.slice(equals + 1)];
    return ({ labels }) => Object.entries(labels).some(([name, text]) => name.toLowerCase() === key && text.toLowerCase().startsWith(value));
  }
  return ({ name, id, labels }) =>
    name.toLowerCase().includes(word) || id.startsWith(word) || Object.values(labels).some((text) => text.toLowerCase().includes(word));
}
