// The terminals of this page: processes of the session with a tag, so that every page and every client finds them again.

import { get, path, post } from "../../../api/client";
import type { JobView, ProcessView } from "../../../api/types";

export const OWN_TAG = "dashboard";

export async function openTerminal(session: string, directory?: string): Promise<ProcessView> {
  // The best shell that is there. A container may have nothing but `sh`.
  const command = "if command -v bash >/dev/null; then exec bash; else exec sh; fi";
  return post<ProcessView>(path("sessions", session, "processes"), {
    command,
    terminal: { rows: 24, columns: 80 },
    tag: OWN_TAG,
    env: { TERM: "xterm-256color" },
    ...(directory ? { directory } : {}),
  });
}

export interface Running {
  processes: ProcessView[];
  jobs: JobView[];
  /** Those that a call waits for. */
  commands: JobView[];
}

export async function readRunning(session: string): Promise<Running> {
  const [processes, jobs, commands] = await Promise.all([
    get<ProcessView[]>(path("sessions", session, "processes")),
    get<JobView[]>(path("sessions", session, "jobs")),
    get<JobView[]>(path("sessions", session, "commands")),
  ]);
  return { processes, jobs, commands };
}

export function titleOf(process: ProcessView): string {
  return process.tag === OWN_TAG ? `Terminal ${process.id}` : process.command;
}
