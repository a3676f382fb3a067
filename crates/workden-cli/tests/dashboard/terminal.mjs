// A terminal across a reload, shared with the API, on two pages; and what an agent runs, watched, signalled and stopped.

import { api, assert, enter, eventually, go, inBrowser, picture, run, session, watched } from "./browser.mjs";

const screen = (page) => page.locator(".xterm-accessibility");

async function type(page, text) {
  await page.locator(".xterm-helper-textarea").pressSequentially(text);
  await page.keyboard.press("Enter");
}

await inBrowser(async (page, { context, complaints }) => {
  const { id } = await session({ name: "shells" });
  await enter(page, `#/sessions/${id}/terminal`);
  await page.getByRole("button", { name: "Open a terminal" }).click();
  await page.locator(".xterm-helper-textarea").waitFor();
  // What was printed before is not answered, so typing waits for a moment.
  await page.waitForTimeout(800);
  await type(page, "cd /tmp; export MARK=$((40+2)); echo \"mark: $MARK\"");
  await screen(page).getByText("mark: 42").first().waitFor();

  await page.reload();
  await screen(page).getByText("mark: 42").first().waitFor();
  await page.waitForTimeout(800);
  await type(page, "echo \"again: $MARK in $PWD\"");
  await screen(page).getByText("again: 42 in /tmp").first().waitFor();

  // The API sees the same process, and a second page shows the same screen.
  const [terminal] = await api("GET", `/v1/sessions/${id}/processes`);
  assert.ok(terminal.is_terminal && terminal.running);
  await api("POST", `/v1/sessions/${id}/processes/${terminal.id}/input`, "echo from-the-api\n", { "Content-Type": "application/octet-stream" });
  await screen(page).getByText("from-the-api").first().waitFor();
  const second = await watched(context, complaints);
  await enter(second, `#/sessions/${id}/terminal`);
  await screen(second).getByText("again: 42 in /tmp").first().waitFor();
  await second.close();
  await picture(page, "shell-dark");

  // Escapes of a program set no clipboard and offer no link.
  await type(page, "printf '\\033]52;c;aGFja2Vk\\007\\033]8;;http://example.com\\007click\\033]8;;\\007\\n'; echo past-it");
  await screen(page).getByText("past-it").first().waitFor();
  assert.equal(await page.locator(".xterm a").count(), 0);

  // Several terminals, and "terminal here".
  await run(id, "mkdir -p deep/er");
  await go(page, `#/sessions/${id}/terminal?in=${encodeURIComponent("/workspace/deep/er")}`);
  await page.getByRole("group", { name: "What runs" }).getByText("Terminal 2").waitFor();
  await page.waitForTimeout(800);
  await type(page, "pwd");
  await screen(page).getByText("/workspace/deep/er").first().waitFor();

  // What the agent runs: watched without typing into it, with input, a signal and an end.
  const code = "while read line; do echo \"got $line\"; done; echo over";
  const process = await api("POST", `/v1/sessions/${id}/processes`, { command: code });
  await go(page, `#/sessions/${id}/terminal?process=${process.id}`);
  await page.getByPlaceholder("A line for its standard input").fill("hello");
  await page.getByRole("button", { name: "Send" }).click();
  await screen(page).getByText("got hello").first().waitFor();
  await page.getByLabel("Send a signal").selectOption("TERM");
  await page.getByText("ended with exit code 143").waitFor();

  const job = await api("POST", `/v1/sessions/${id}/jobs`, { command: "echo started; sleep 1000" });
  await go(page, `#/sessions/${id}/terminal?job=${job.id}`);
  await screen(page).getByText("started").first().waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await eventually(async () => !(await api("GET", `/v1/sessions/${id}/jobs`)).find((each) => each.id === job.id).running, "the end of the job");
  await page.getByText(/ended with exit code/).waitFor();

  // What a call of a tool runs, while the call waits.
  const line = "echo working; sleep 1000";
  const call = api("POST", `/v1/sessions/${id}/tools`, { name: "execute", arguments: { command: line } });
  await go(page, `#/sessions/${id}/terminal`);
  await page.getByRole("button", { name: line }).click();
  await screen(page).getByText("working").first().waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("ended with exit code 143").waitFor();
  assert.match((await call).text, /exit code 143/);
});

console.log("reload, shared, watched, stopped");
