// The questions that wait, over all sessions of the key: live, with a sound for a new one if the user wants that.

import { post, path } from "../api/client";
import { follow, type Follower } from "../api/follow";
import type { Approval, Scope } from "../api/types";
import { chime } from "../ui/chime";

const SOUND = "workden.sound";

let waiting = $state.raw<Approval[]>([]);
let isRead = $state(false);
let sounds = $state(localStorage.getItem(SOUND) !== "off");
let answering = $state.raw<ReadonlySet<string>>(new Set());
let follower: Follower | undefined;

export function followApprovals(): void {
  follower?.stop();
  follower = follow({
    url: "/v1/approvals/stream",
    // The number in the title and the sound are for pages that are not looked at.
    evenHidden: true,
    onEvent: ({ data }) => take(JSON.parse(data) as Approval[]),
  });
}

export function leaveApprovals(): void {
  follower?.stop();
  follower = undefined;
  [waiting, isRead] = [[], false];
}

function take(next: Approval[]): void {
  const known = new Set(waiting.map((approval) => approval.id));
  const isNew = next.some((approval) => !known.has(approval.id));
  if (isRead && isNew && sounds) chime();
  [waiting, isRead] = [next, true];
}

export function waitingApprovals(): Approval[] {
  return waiting;
}

export function areApprovalsRead(): boolean {
  return isRead;
}

export function soundsAreOn(): boolean {
  return sounds;
}

export function toggleSounds(): void {
  sounds = !sounds;
  localStorage.setItem(SOUND, sounds ? "on" : "off");
  if (sounds) chime();
}

export function isAnswering(id: string): boolean {
  return answering.has(id);
}

export async function answerApproval(id: string, decision: "approve" | "deny", scope: Scope, note: string): Promise<void> {
  if (answering.has(id)) return;
  answering = new Set(answering).add(id);
  try {
    await post(path("approvals", id), { decision, scope, ...(note ? { note } : {}) });
    // The stream says so, too, a moment later.
    waiting = waiting.filter((approval) => approval.id !== id);
  } finally {
    answering = new Set([...answering].filter((other) => other !== id));
  }
}
