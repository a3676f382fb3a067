// Which commands an approval by prefix would cover, to say it before it is given. The service decides what it covers.

import type { ApprovalRequest } from "../../api/types";

/** The first words of the one program of a command that was understood; `undefined` where only this call can be approved. */
export function prefixOf(request: ApprovalRequest): string | undefined {
  const understood = request.command?.understood;
  if (!understood || understood.length !== 1) return undefined;
  const words = understood[0] ?? [];
  const isSubcommand = words[1] !== undefined && /^[a-z][\w-]*$/.test(words[1]);
  return words.slice(0, isSubcommand ? 2 : 1).join(" ") || undefined;
}
