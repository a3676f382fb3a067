// All sessions of the key: read once, and again when the live audit says that one came, went or changed its state.

import { get, withQuery } from "../api/client";
import { asFailure, type ApiFailure } from "../api/failure";
import { follow, type Follower } from "../api/follow";
import type { LoggedEvent, Session } from "../api/types";

const PAGE = 1000;
/** The times of the last use change without an event. */
const AGAIN = 20_000;
/** Many sessions that change at once are one look. */
const PAUSE = 250;

let sessions = $state.raw<Session[]>([]);
let lastEvents = $state.raw<ReadonlyMap<string, LoggedEvent>>(new Map());
let isRead = $state(false);
let failure = $state.raw<ApiFailure>();
let follower: Follower | undefined;
let timer: ReturnType<typeof setInterval> | undefined;
let soon: ReturnType<typeof setTimeout> | undefined;
let arrived: LoggedEvent[] = [];

export function followSessions(): void {
  leaveSessions();
  follower = follow({
    url: "/v1/audit/stream",
    onOpen: () => readSoon(0),
    onEvent: ({ data }) => take(JSON.parse(data) as LoggedEvent),
    // The token of a session may not follow the audit; its one session is read from time to time.
    onRefused: () => readSoon(0),
  });
  timer = setInterval(() => !document.hidden && readSoon(0), AGAIN);
}

export function leaveSessions(): void {
  follower?.stop();
  clearInterval(timer);
  clearTimeout(soon);
  [sessions, isRead, failure, follower, soon] = [[], false, undefined, undefined, undefined];
  lastEvents = new Map();
}

function take(event: LoggedEvent): void {
  if (!event.session) return;
  if (arrived.push(event) === 1) {
    setTimeout(() => {
      const next = new Map(lastEvents);
      for (const event of arrived) next.set(event.session, event);
      [lastEvents, arrived] = [next, []];
    }, PAUSE);
  }
  if (event.kind.startsWith("session_")) readSoon(PAUSE);
}

export function readSoon(pause: number): void {
  soon ??= setTimeout(() => {
    soon = undefined;
    void read();
  }, pause);
}

async function read(): Promise<void> {
  const all: Session[] = [];
  try {
    let after: string | undefined;
    do {
      const page = await get<{ sessions: Session[]; next?: string }>(withQuery("/v1/sessions", { limit: PAGE, after }));
      all.push(...page.sessions);
      after = page.next;
    } while (after);
    [sessions, isRead, failure] = [all, true, undefined];
  } catch (error) {
    failure = asFailure(error);
  }
}

export function allSessions(): Session[] {
  return sessions;
}

export function lastEventOf(id: string): LoggedEvent | undefined {
  return lastEvents.get(id);
}

export function areSessionsRead(): boolean {
  return isRead;
}

export function sessionsFailure(): ApiFailure | undefined {
  return failure;
}

export function nameOf(id: string): string {
  return sessions.find((session) => session.id === id)?.name ?? id;
}
