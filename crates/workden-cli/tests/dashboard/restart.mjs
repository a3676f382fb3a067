// The service is started again under an open page: the page says so, connects by itself, and shows what happened meanwhile.
// The test asks for the restart on its output, and is told on its input.

import { createInterface } from "node:readline";
import { api, assert, enter, eventually, go, inBrowser, key, session, url, watched } from "./browser.mjs";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function order(what) {
  console.log(what);
  const { value } = await lines.next();
  assert.equal(value, `${what}: done`);
}

await inBrowser(async (_, { context, complaints }) => {
  // While the service is gone, the browser reports each try.
  const page = await watched(context, complaints, { permits: (text) => /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|WebSocket/.test(text) });
  const { id } = await session({ name: "survivor" });
  await api("PUT", `/v1/sessions/${id}/files?path=before.txt`, "before");
  await enter(page, `#/sessions/${id}/timeline`);
  const timeline = page.getByRole("list", { name: "Timeline" });
  await timeline.getByText("/workspace/before.txt").first().waitFor();

  await order("stop");
  await page.getByText("Not connected to the service").waitFor();
  await timeline.getByText("/workspace/before.txt").first().waitFor();
  await order("start");
  await page.getByText("Not connected to the service").waitFor({ state: "detached" });
  await api("PUT", `/v1/sessions/${id}/files?path=after.txt`, "after");
  await timeline.getByText("/workspace/after.txt").first().waitFor();
  const seen = await timeline.getByText("/workspace/before.txt").count();
  assert.equal(seen, 1, "no entry is shown twice");

  // A question that is asked now reaches the page, too.
  const { id: asking } = await session({ name: "asking", policy: { preset: "strict" } });
  void api("POST", `/v1/sessions/${asking}/commands`, { command: "ls" }).catch(() => undefined);
  await page.getByLabel("1 waiting").waitFor();
  await go(page, "#/approvals");
  await page.getByRole("button", { name: /^Approve/ }).waitFor();

  // A key that is revoked is asked for again.
  const made = await api("POST", "/v1/keys", { role: "tenant", label: "short" });
  const other = await watched(await context.browser().newContext(), complaints, { permits: () => true });
  await other.goto(`${url}/#key=${made.key}`);
  await other.getByRole("heading", { name: "Sessions", level: 1 }).waitFor();
  await api("DELETE", `/v1/keys/${made.id}`);
  await other.getByLabel("API key").waitFor();
  assert.ok(await eventually(async () => (await other.evaluate(() => sessionStorage.length)) === 0, "the key forgotten"));
  assert.notEqual(made.key, key);
});

console.log("connected again");
// A call still waits for its approval.
process.exit(0);
