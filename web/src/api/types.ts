// What `/v1` answers with. `/openapi.json` describes it; these are the parts that the page uses.

export type Role = "admin" | "tenant" | "session";

export interface Caller {
  key: string;
  role: Role;
  tenant: string;
  session?: string;
  version: string;
  started_at: string;
  now: string;
  default_runtime: string;
  idle_seconds: number;
  lifetime_seconds: number;
}

export interface Session {
  id: string;
  name: string;
  tenant: string;
  runtime: string;
  state: "running" | "paused" | "ending";
  labels: Record<string, string>;
  created_at: string;
  used_at: string;
  ends_at: string;
  kept_until?: string;
  idle_seconds: number;
  port_host: string;
}

export interface Policy {
  preset?: string;
  rules?: Record<string, unknown>;
}

export interface NewSession {
  name?: string;
  runtime?: string;
  memory?: string;
  cpus?: number;
  pids?: number;
  network?: string;
  directory?: string;
  env?: Record<string, string>;
  labels?: Record<string, string>;
  idle_seconds?: number;
  lifetime_seconds?: number;
  at_end?: "delete" | "pause";
  policy?: Policy;
}

export interface Runtime {
  sandbox: string;
  image: string | null;
  network: string | null;
  memory: string | null;
  cpus: number | null;
  description: string;
}

export interface LoggedEvent {
  session: string;
  seq: number;
  at: string;
  kind: string;
  actor: string;
  data: Record<string, unknown>;
}

export type Outcome = "allowed" | "approved" | "abandoned" | { refused: string } | { failed: string };

export interface CallData {
  call: string;
  paths: { typed: string; real: string }[];
  command?: string;
  outcome: Outcome;
  tool?: string;
  why?: string;
  millis?: number;
  exit_code?: number;
  bytes?: number;
}

export interface UsageSample {
  at: string;
  memory?: number;
  cpu_seconds?: number;
  processes?: number;
  jobs: number;
}

export interface HostSample {
  at: string;
  memory?: number;
  memory_total?: number;
  cpu_seconds?: number;
  processors: number;
  service_memory: number;
  open_sessions: number;
}

export interface Activity {
  last?: LoggedEvent;
  samples: UsageSample[];
}

export interface LimitReport {
  limit: string;
  value: string;
  amount: number;
  enforcement: string;
}

export interface Usage {
  memory: number | null;
  memory_peak: number | null;
  cpu_seconds: number | null;
  processes: number | null;
  age_seconds: number;
  jobs: number;
  isolation: { level: string; walls: string[]; lacking: string[]; limits: LimitReport[] };
}

export type ApprovalState = "pending" | "approved" | "denied" | "expired" | "withdrawn";

export interface ApprovalRequest {
  call: string;
  operations: string[];
  paths: { typed: string; real: string }[];
  below?: number;
  command?: { script: string; directory: string; understood?: string[][] | null };
  description: string;
  why: string;
  caller?: { tool: string };
  preview?: string;
  left_out?: string;
}

export interface Approval {
  id: string;
  session: string;
  state: ApprovalState;
  request: ApprovalRequest;
  answer?: { decision: "approve" | "deny"; scope: Scope; note?: string };
  asked_at: string;
  expires_at: string;
  answered_at?: string;
  answered_by?: string;
}

export type Scope = "once" | "session" | "prefix";

export interface FileEntry {
  path: string;
  name: string;
  kind: "file" | "directory" | "link" | "special";
  is_link: boolean;
  size?: number;
  modified?: string;
}

export interface ProcessView {
  id: number;
  pid: number;
  command: string;
  tag?: string;
  is_terminal: boolean;
  started_at: string;
  running: boolean;
  exit_code?: number;
}

export interface JobView {
  id: string;
  command: string;
  running: boolean;
  exit_code?: number;
  duration_seconds: number;
  printed: number;
}

export interface JobText {
  text: string;
  skipped: number;
  next: number;
  job: JobView;
}

export interface CommandResult {
  exit_code: number;
  output: string;
  timed_out: boolean;
  truncated: boolean;
  duration_seconds: number;
}

export interface Change {
  path: string;
  kind: "added" | "changed" | "removed";
  size: number | null;
  size_before: number | null;
  binary: boolean;
}

export interface ChangedFile {
  before: string | null;
  after: string | null;
  binary: boolean;
  etag: string | null;
}

export interface PortView {
  port: number;
  url: string;
  link: string;
  path: string;
  published: boolean;
}

export type Verdict = "allow" | "ask" | "deny";

export interface PolicyLayer {
  source: "service" | "tenant" | "session";
  preset?: string;
  rules: Record<string, unknown>;
}

export interface Explanation {
  action: Verdict;
  why: string;
  hint?: string;
  programs?: string[][];
  layers: {
    action: Verdict;
    reasons: { action: Verdict; kind: string; about: string; why: string; rule?: string }[];
  }[];
}

export interface KeyView {
  id: string;
  tenant: string;
  role: string;
  label: string;
  created_at: string;
  revoked_at?: string;
}

export interface Quotas {
  max_sessions: number;
  memory: string | null;
  cpus: number | null;
  lifetime_seconds: number;
  network: boolean;
}

export interface TenantView {
  id: string;
  quotas: Quotas;
  policy: Policy;
  created_at: string;
  running: number;
}
