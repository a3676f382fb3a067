// Follows a stream of events: resumes after the last number, and connects again by itself, a little later each time.

import { reportLink } from "../state/link.svelte";
import { send } from "./client";
import { eventsOf, type ServerEvent } from "./event-stream";
import { asFailure } from "./failure";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;
/** A page that is hidden for longer than this leaves its streams, and resumes them when it is seen. */
const HIDDEN = 5000;
/** The service sends a comment every 15 seconds. A connection that is silent for longer is gone. */
const SILENCE = 45_000;

export interface Follower {
  stop(): void;
}

export interface Followed {
  url: string;
  /** Resume after this number, with `Last-Event-ID`. */
  after?: number;
  onEvent: (event: ServerEvent) => void;
  /** Called each time the stream is open, with whether it was open before. */
  onOpen?: (again: boolean) => void;
  /** Whether the stream goes on while the page is hidden. A browser has six connections to a host for all pages together. */
  evenHidden?: boolean;
  /** Called when the service refuses the stream for good. */
  onRefused?: (failure: ReturnType<typeof asFailure>) => void;
}

export function follow(followed: Followed): Follower {
  const stopped = new AbortController();
  void run(followed, stopped.signal);
  return { stop: () => stopped.abort() };
}

async function run(followed: Followed, stopped: AbortSignal): Promise<void> {
  let last = followed.after === undefined ? undefined : String(followed.after);
  let pause = FIRST_PAUSE;
  let again = false;
  const rests = () => document.hidden && !followed.evenHidden;
  while (!stopped.aborted) {
    while (rests() && !stopped.aborted) await waited(LONGEST_PAUSE, stopped);
    const connection = new AbortController();
    const end = () => connection.abort();
    const onHidden = () => setTimeout(() => rests() && end(), HIDDEN);
    stopped.addEventListener("abort", end, { once: true });
    document.addEventListener("visibilitychange", onHidden);
    let silence = setTimeout(end, SILENCE);
    try {
      const headers: Record<string, string> = last === undefined ? {} : { "Last-Event-ID": last };
      const answer = await send(followed.url, { headers, signal: connection.signal });
      if (!answer.body) return;
      reportLink(followed.url, true);
      followed.onOpen?.(again);
      [again, pause] = [true, FIRST_PAUSE];
      const heard = new TransformStream<Uint8Array, Uint8Array>({
        transform(piece, controller) {
          clearTimeout(silence);
          silence = setTimeout(end, SILENCE);
          controller.enqueue(piece);
        },
      });
      for await (const event of eventsOf(answer.body.pipeThrough(heard))) {
        if (event.id !== undefined) last = event.id;
        followed.onEvent(event);
      }
    } catch (error) {
      const failure = asFailure(error);
      if (failure.status >= 400 && failure.status < 500 && failure.status !== 429) {
        if (!stopped.aborted) followed.onRefused?.(failure);
        reportLink(followed.url, undefined);
        return;
      }
    } finally {
      clearTimeout(silence);
      stopped.removeEventListener("abort", end);
      document.removeEventListener("visibilitychange", onHidden);
      connection.abort();
    }
    if (stopped.aborted) break;
    if (rests()) {
      reportLink(followed.url, undefined);
      continue;
    }
    reportLink(followed.url, false);
    await waited(pause, stopped);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
  reportLink(followed.url, undefined);
}

/** Waits for a time, or until the network is back or the page is seen again. */
function waited(time: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      document.removeEventListener("visibilitychange", done);
      stopped.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, time);
    addEventListener("online", done);
    document.addEventListener("visibilitychange", done);
    stopped.addEventListener("abort", done);
  });
}
