// What the sessions in sight did last, and what they use: asked for again and again, for those in sight only.

import { get, withQuery } from "../api/client";
import type { Activity, Session, UsageSample } from "../api/types";

const AGAIN = 5000;
const MOST = 200;

let activity = $state.raw<Record<string, Activity>>({});
let wanted: string[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

/** Asks for these sessions from now on. */
export function watchActivity(sessions: readonly Session[]): void {
  wanted = sessions.slice(0, MOST).map((session) => session.id);
  const isNew = wanted.some((id) => !(id in activity));
  if (isNew || timer === undefined) again(isNew ? 120 : AGAIN);
}

export function leaveActivity(): void {
  clearTimeout(timer);
  timer = undefined;
}

export function activityOf(id: string): Activity | undefined {
  return activity[id];
}

function again(pause: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void read(), pause);
}

async function read(): Promise<void> {
  if (wanted.length > 0 && !document.hidden) {
    const found = await get<Record<string, Activity>>(withQuery("/v1/activity", { sessions: wanted.join(",") })).catch(
      () => undefined,
    );
    if (found) activity = { ...activity, ...found };
  }
  if (timer !== undefined) again(AGAIN);
}

/** Processors in use between the last two samples; `undefined` if the system does not tell. */
export function processorsOf(samples: readonly UsageSample[]): number | undefined {
  const [before, after] = samples.slice(-2);
  if (before?.cpu_seconds === undefined || after?.cpu_seconds === undefined) return undefined;
  const seconds = (Date.parse(after.at) - Date.parse(before.at)) / 1000;
  return seconds > 0 ? Math.max(0, after.cpu_seconds - before.cpu_seconds) / seconds : undefined;
}
