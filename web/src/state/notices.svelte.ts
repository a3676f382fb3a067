// Short notices: what was done, and what failed with its hint.

import { asFailure } from "../api/failure";

export interface Notice {
  id: number;
  kind: "done" | "failed";
  text: string;
  hint: string | undefined;
}

let notices = $state<Notice[]>([]);
let last = 0;

function add(kind: Notice["kind"], text: string, hint?: string): void {
  const id = ++last;
  notices = [...notices.slice(-2), { id, kind, text, hint }];
  setTimeout(() => dismiss(id), kind === "done" ? 3000 : 12_000);
}

export function tell(text: string): void {
  add("done", text);
}

export function tellFailure(error: unknown): void {
  const failure = asFailure(error);
  add("failed", failure.message, failure.hint);
}

export function dismiss(id: number): void {
  notices = notices.filter((notice) => notice.id !== id);
}

export function currentNotices(): Notice[] {
  return notices;
}
