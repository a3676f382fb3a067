// The events of a session, the newest first: the newest page, older pages when they are wanted, and new ones live.

import { get, path, withQuery } from "../../../api/client";
import { asFailure, type ApiFailure } from "../../../api/failure";
import { follow, type Follower } from "../../../api/follow";
import type { LoggedEvent } from "../../../api/types";
import { callOf, wordsOf, type EventWords } from "../../../state/event-words";

const PAGE = 1000;
/** Many events that come at once are one change of the list. */
const PAUSE = 100;

export interface Entry {
  seq: number;
  event: LoggedEvent;
  words: EventWords;
  /** What a search looks at. */
  text: string;
  kind: EntryKind;
}

export type EntryKind = "commands" | "files" | "decisions" | "session";

export class EventLog {
  entries = $state.raw<Entry[]>([]);
  isRead = $state(false);
  isComplete = $state(false);
  failure = $state.raw<ApiFailure>();
  readonly #session: string;
  #follower: Follower | undefined;
  #arrived: Entry[] = [];
  #isReading = false;

  constructor(session: string) {
    this.#session = session;
    void this.#start();
  }

  stop(): void {
    this.#follower?.stop();
  }

  async #start(): Promise<void> {
    await this.older();
    const after = this.entries[0]?.seq ?? 0;
    this.#follower = follow({
      url: withQuery(path("sessions", this.#session, "events", "stream"), { after }),
      after,
      onEvent: ({ data }) => this.#take(entryOf(JSON.parse(data) as LoggedEvent)),
    });
  }

  #take(entry: Entry): void {
    if (this.#arrived.push(entry) > 1) return;
    setTimeout(() => {
      const known = this.entries[0]?.seq ?? 0;
      const fresh = this.#arrived.filter((entry) => entry.seq > known).reverse();
      this.#arrived = [];
      if (fresh.length > 0) this.entries = [...fresh, ...this.entries];
    }, PAUSE);
  }

  /** Reads the page before the oldest entry. */
  async older(): Promise<void> {
    if (this.isComplete || this.#isReading) return;
    this.#isReading = true;
    try {
      const before = this.entries.at(-1)?.seq ?? Number.MAX_SAFE_INTEGER;
      const url = withQuery(path("sessions", this.#session, "events"), { before, limit: PAGE });
      const page = await get<LoggedEvent[]>(url);
      this.entries = [...this.entries, ...page.map(entryOf)];
      [this.isRead, this.isComplete, this.failure] = [true, page.length < PAGE, undefined];
    } catch (error) {
      this.failure = asFailure(error);
    } finally {
      this.#isReading = false;
    }
  }
}

function entryOf(event: LoggedEvent): Entry {
  const words = wordsOf(event);
  const text = `${event.kind} ${words.verb} ${words.object} ${words.outcome} ${event.actor} ${callOf(event)?.tool ?? ""}`.toLowerCase();
  return { seq: event.seq, event, words, text, kind: kindOf(event) };
}

function kindOf(event: LoggedEvent): EntryKind {
  if (event.kind.startsWith("approval_")) return "decisions";
  const call = callOf(event);
  if (!call) return event.kind === "code_run" ? "commands" : "session";
  if (typeof call.outcome === "object" && "refused" in call.outcome) return "decisions";
  return call.command === undefined ? "files" : "commands";
}
