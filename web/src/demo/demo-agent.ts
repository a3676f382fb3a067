// The demo agent: a script that does what an agent would, through the public API, with the token of its session. It gives
// every view something to show, and at the end waits for two approvals.

import { path, post } from "../api/client";
import type { Session } from "../api/types";
import { FILES, POLICY, README, REPORT } from "./demo-files";
import { SessionAgent } from "./session-agent";

/** Starts the demo, and returns the id of its session. The agent works on in the background. */
export async function startDemo(): Promise<string> {
  const session = await post<Session & { token: string }>("/v1/sessions", {
    name: `demo-${Date.now().toString(36).slice(-5)}`,
    labels: { agent: "demo", task: "primes" },
    lifetime_seconds: 4 * 3600,
    env: { PYTHONDONTWRITEBYTECODE: "1" },
    policy: POLICY,
  });
  void work(session.id, new SessionAgent(session.id, session.token));
  return session.id;
}

async function work(session: string, agent: SessionAgent): Promise<void> {
  for (const [file, content] of Object.entries(FILES)) await agent.write(file, content);
  // What is there now is the start, so that the changes are those of the agent. An older server does not compare.
  await post(path("sessions", session, "changes", "accept")).catch(() => undefined);
  await agent.run("python3 primes.py 30");
  await agent.run("python3 -m unittest -q test_primes 2>&1 || true");
  await agent.edit("primes.py", "range(2, limit)", "range(2, limit + 1)");
  await agent.write("README.md", README);
  await agent.run("python3 primes.py 31");
  await agent.job("for i in $(seq 1 200); do echo \"step $i\"; sleep 3; done");
  await agent.job("python3 -u -m http.server 3000 --directory site");
  await agent.run("ls -la && df -h . | tail -1");
  await agent.search("TODO");
  await agent.run("curl -s https://example.com");
  await agent.read(".env");
  await agent.run("exit 3");
  await agent.write("report.md", REPORT);
  // These wait for a person: a change of a protected file, and a command that leaves the sandbox.
  void agent.write("deploy/config.toml", 'environment = "production"\nreplicas = 3\n');
  void agent.run("git push origin main");
}
