// The settings of a tenant as a form.

import type { Policy, Quotas, TenantView } from "../../api/types";

export interface TenantForm {
  isNew: boolean;
  id: string;
  sessions: number;
  memory: string;
  cpus: string;
  lifetime: number;
  network: boolean;
  policy: string;
}

export function emptyTenant(): TenantForm {
  return { isNew: true, id: "", sessions: 100, memory: "", cpus: "", lifetime: 30 * 24 * 3600, network: false, policy: "" };
}

export function formOf({ id, quotas, policy }: TenantView): TenantForm {
  const hasPolicy = Object.keys(policy).length > 0;
  return {
    isNew: false,
    id,
    sessions: quotas.max_sessions,
    memory: quotas.memory ?? "",
    cpus: quotas.cpus === null ? "" : String(quotas.cpus),
    lifetime: quotas.lifetime_seconds,
    network: quotas.network,
    policy: hasPolicy ? JSON.stringify(policy, null, 2) : "",
  };
}

/** Throws where a number or the policy cannot be read. */
export function settingsOf(form: TenantForm): { quotas: Quotas; policy: Policy } {
  const cpus = form.cpus.trim() ? Number(form.cpus) : null;
  if (cpus !== null && !Number.isFinite(cpus)) throw new Error(`invalid processors: \`${form.cpus}\` is not a number`);
  let policy: Policy = {};
  try {
    if (form.policy.trim()) policy = JSON.parse(form.policy) as Policy;
  } catch {
    throw new Error("invalid policy: it is not JSON");
  }
  const quotas: Quotas = {
    max_sessions: form.sessions,
    memory: form.memory.trim() || null,
    cpus,
    lifetime_seconds: form.lifetime,
    network: form.network,
  };
  return { quotas, policy };
}
