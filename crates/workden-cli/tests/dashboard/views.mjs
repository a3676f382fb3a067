// The first start, the demo agent, and every view that it fills: in dark and in light, at a desk and on a phone. An approval
// is answered by keyboard while the agent waits.

import { accessible, api, assert, enter, eventually, go, inBrowser, key, picture, run, session, url, write } from "./browser.mjs";

const TABS = {
  timeline: (page) => page.getByRole("list", { name: "Timeline" }).getByText("python3 primes.py 31").first(),
  terminal: (page) => page.getByRole("group", { name: "What runs" }).getByText("http.server"),
  files: (page) => page.getByRole("list", { name: "Files" }).getByText("primes.py", { exact: true }),
  changes: (page) => page.getByRole("list", { name: "Changed files" }).getByText("/workspace/primes.py"),
  usage: (page) => page.getByRole("heading", { name: /Isolation/ }),
  ports: (page) => page.getByRole("link", { name: "Open" }),
  policy: (page) => page.getByRole("heading", { name: "Rules of the session" }),
};

/** The sessions of a team, as a list shows them. */
const TEAM = {
  "docs-site": [{ team: "docs" }, "for i in 1 2 3; do echo page $i; done"],
  "api-tests": [{ team: "api", task: "412" }, "echo '37 passed'; exit 0"],
  "api-flaky": [{ team: "api", task: "409" }, "echo 'expected 200, got 502'; exit 1"],
  "import-orders": [{ team: "data" }, "seq 1 5000 | awk '{s+=$1} END {print s}'"],
  "review-218": [{ team: "web", task: "218" }, "git init -q . && git status --short"],
  "nightly-report": [{ team: "data", runs: "nightly" }, "date -u +%A"],
};

async function team() {
  for (const [name, [labels, command]] of Object.entries(TEAM)) {
    const { id } = await session({ name, labels });
    await write(id, "notes.md", `# ${name}\n`);
    await run(id, command);
    if (name === "nightly-report") await api("POST", `/v1/sessions/${id}/pause`);
  }
}

async function demo(page) {
  await page.getByRole("heading", { name: "Give an agent a place to work" }).waitFor();
  for (const way of ["Claude Code", "Pydantic AI", "E2B SDK"]) await page.getByRole("heading", { name: way }).waitFor();
  assert.ok(!(await page.content()).includes(key), "the key is not shown");
  await accessible(page, "the first start");
  await picture(page, "first-start-dark");
  await page.getByRole("button", { name: "Run the demo agent" }).click();
  await page.waitForURL(/#\/sessions\/\w+/);
  const id = /#\/sessions\/(\w+)/.exec(page.url())[1];
  await eventually(async () => (await api("GET", "/v1/approvals")).length === 2, "two questions");
  return id;
}

async function tabs(page, id, theme) {
  for (const [name, shown] of Object.entries(TABS)) {
    await go(page, `#/sessions/${id}/${name}`);
    await shown(page).waitFor();
    if (name === "files") {
      await page.getByRole("list", { name: "Files" }).getByText("primes.py", { exact: true }).click();
      await page.getByRole("textbox", { name: "/workspace/primes.py" }).waitFor();
    }
    if (name === "terminal") {
      await page.getByText("Serving HTTP").or(page.locator(".xterm-accessibility")).first().waitFor();
    }
    if (name === "policy") {
      await page.getByRole("textbox", { name: "Command" }).fill("git push origin main");
      await page.getByRole("button", { name: "Explain" }).click();
      await page.getByText("It would run").waitFor();
    }
    if (name === "changes") await page.locator(".cm-content").first().waitFor();
    await page.waitForTimeout(300);
    await accessible(page, `${name}, ${theme}`);
    await picture(page, `${name}-${theme}`);
  }
}

async function answers(page, id) {
  await go(page, "#/approvals");
  await page.getByText("git push origin main").first().waitFor();
  assert.match(await page.title(), /^\(2\)/);
  await accessible(page, "approvals, dark");
  await picture(page, "questions-dark");
  const push = page.locator("article").filter({ hasText: "git push" });
  await push.getByRole("button", { name: "Note…" }).click();
  await push.getByPlaceholder("What should it do instead?").fill("commit only");
  await push.getByRole("button", { name: "Deny with note" }).click();
  await push.waitFor({ state: "detached" });
  // The write waits; `a` lets it through, and the agent goes on.
  await page.getByText("deploy/config.toml").first().waitFor();
  await page.keyboard.press("a");
  await eventually(async () => (await api("GET", `/v1/sessions/${id}/files?path=deploy/config.toml`)).includes("replicas"), "the write");
  await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  const events = await api("GET", `/v1/sessions/${id}/events?limit=1000`);
  const refused = events.find((event) => event.data.command === "git push origin main");
  assert.match(refused.data.why, /commit only/, "the agent gets the note");
  await page.getByRole("button", { name: "Answered" }).click();
  await page.getByText("commit only").first().waitFor();
}

async function rest(page, theme) {
  const places = { sessions: "Sessions", approvals: "Approvals", host: "Host", "admin/keys": "Admin", "admin/tenants": "Admin", "admin/audit": "Admin" };
  for (const [place, title] of Object.entries(places)) {
    await go(page, `#/${place}`);
    await page.getByRole("heading", { name: title, level: 1 }).waitFor();
    await page.waitForTimeout(600);
    await accessible(page, `${place}, ${theme}`);
    await picture(page, `${place.replace("/", "-")}-${theme}`);
  }
}

async function creates(page) {
  await go(page, "#/sessions");
  await page.getByRole("heading", { name: "Sessions", level: 1 }).waitFor();
  await page.keyboard.press("n");
  await page.getByLabel("Name", { exact: true }).fill("made-by-hand");
  await page.getByLabel("Labels").fill("team=blue, task=7");
  await page.getByText("Limits, times, variables and rules").click();
  await page.getByLabel("Memory", { exact: true }).fill("300M");
  await page.getByText('"memory":"300M"').waitFor();
  await accessible(page, "the form of a session");
  await picture(page, "new-session-dark");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { name: "made-by-hand" }).waitFor();
  const [made] = (await api("GET", "/v1/sessions?labels=team=blue")).sessions;
  assert.equal(made.labels.task, "7");
  // Paused and deleted, several at once.
  await go(page, "#/sessions");
  await page.getByLabel("Search sessions").fill("team=blue");
  await page.getByRole("checkbox", { name: "Select made-by-hand" }).check();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await eventually(async () => (await api("GET", `/v1/sessions/${made.id}`)).state === "paused", "the pause");
  await page.getByRole("checkbox", { name: "Select made-by-hand" }).check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No session matches").waitFor();
}

await inBrowser(async (page) => {
  await enter(page);
  const id = await demo(page);
  await tabs(page, id, "dark");
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("Approve once").waitFor();
  await accessible(page, "the shortcuts");
  await page.keyboard.press("Escape");
  await team();
  await go(page, "#/sessions");
  await page.getByText("review-218").waitFor();
  // The first samples of what they use.
  await eventually(async () => (await page.getByText(/^\d+(\.\d)? [KM]?B$/).count()) >= 6, "the memory of the sessions");
  await page.mouse.move(0, 0);
  await picture(page, "team-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForTimeout(300);
  await picture(page, "team-light");
  await go(page, "#/approvals");
  await page.getByText("git push origin main").first().waitFor();
  await accessible(page, "approvals, light");
  await picture(page, "questions-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForTimeout(300);
  await answers(page, id);
  await rest(page, "dark");
  await creates(page);

  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForTimeout(300);
  await tabs(page, id, "light");
  await rest(page, "light");

  await page.setViewportSize({ width: 390, height: 844 });
  for (const place of ["sessions", "approvals", `sessions/${id}/timeline`, `sessions/${id}/files`, `sessions/${id}/terminal`]) {
    await go(page, `#/${place}`);
    await page.waitForTimeout(600);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${place} is wider than a phone by ${overflow}`);
    await accessible(page, `${place} on a phone`);
    await picture(page, `phone-${place.split("/").pop()}`);
  }
});

// A key that is not valid is refused in the words of the service.
await inBrowser(async (page) => {
  await page.goto(url);
  await page.getByLabel("API key").fill("e2b_wrong");
  await accessible(page, "the login");
  await picture(page, "login-dark");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: "Sessions", level: 1 }).waitFor();
});

console.log("first start, sessions, approvals, terminal, files, changes, timeline, usage, ports, policy, administration");
