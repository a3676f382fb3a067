// A hostile workspace: names and content with markup, escapes and marks that turn text around, a huge file, HTML that would
// run, and a session whose labels and commands try the same. Nothing of it runs, and all of it is shown as what it is.

import { api, assert, enter, go, inBrowser, picture, run, session, write } from "./browser.mjs";

const MARKUP = "<img src=x onerror=window.hacked=1>";
const TURNED = "photo_\u202egnp.exe";
const ESCAPED = "bell\u0007\u001b[31mred";

const HTML = `<!doctype html><title>t</title><style>h1 { color: rgb(1, 2, 3) }</style>
<h1>Styled</h1>
<script>parent.postMessage("ran", "*"); document.title = "ran"; fetch("/v1/keys")</script>
<img src="http://example.com/x.png" onerror="parent.hacked = 1">
<a id="out" href="http://example.com/">leave</a><form action="http://example.com/"><button id="send">send</button></form>
<meta http-equiv="refresh" content="0;url=http://example.com/">`;

await inBrowser(async (page) => {
  const policy = { rules: { default: "allow", execute: { default: "allow", rules: [{ pattern: "danger *", action: "ask", description: MARKUP }] } } };
  const { id } = await session({ name: "hostile", labels: { [MARKUP]: TURNED }, policy });
  for (const name of [MARKUP, TURNED, ESCAPED, "line\nbreak", "a".repeat(200)]) await write(id, name, `${name}\n${MARKUP}`);
  await write(id, "page.html", HTML);
  await run(id, "head -c 300000000 /dev/zero | tr '\\0' 'x' > huge.txt; mkdir many; cd many; for i in $(seq 3000); do : > f$i; done");
  await run(id, `echo '${MARKUP}'; printf '\\033]0;owned\\007'`);
  void api("POST", `/v1/sessions/${id}/commands`, { command: `danger '${MARKUP}\u202e'` }).catch(() => undefined);

  await enter(page);
  await page.getByText(`${MARKUP}=photo_\\u{202e}gnp.exe`).first().waitFor();
  await go(page, `#/sessions/${id}/files`);
  const files = page.getByRole("list", { name: "Files" });
  for (const shown of [MARKUP, "photo_\\u{202e}gnp.exe", "bell\\u{7}\\e[31mred", "line\\nbreak"]) await files.getByText(shown, { exact: true }).waitFor();
  await picture(page, "hostile-dark");
  await files.getByText(MARKUP, { exact: true }).click();
  await page.locator(".cm-content").getByText(MARKUP).first().waitFor();
  await files.getByText("photo_\\u{202e}gnp.exe").click();
  await page.locator(".cm-content .cm-specialChar").first().waitFor();

  // The start of a huge file, and a directory with more entries than a screen has.
  await files.getByText("huge.txt").click();
  await page.getByText(/the first 2.0 MB of 286/).waitFor();
  await files.getByRole("button", { name: "many", exact: true }).click();
  await files.getByText("f1", { exact: true }).waitFor();
  const rows = await files.getByRole("listitem").count();
  assert.ok(rows < 100, `${rows} rows exist`);

  // HTML in a frame without an origin.
  await go(page, `#/sessions/${id}/files?path=${encodeURIComponent("/workspace/page.html")}`);
  await page.evaluate(() => addEventListener("message", (event) => event.data === "ran" && (window.hacked = 1)));
  await page.getByRole("button", { name: "Preview" }).click();
  const frame = page.frameLocator("iframe[title=Preview]");
  await frame.getByRole("heading", { name: "Styled" }).waitFor();
  const inside = page.frames().find((each) => each.url().endsWith("/preview"));
  assert.equal(await inside.evaluate(() => getComputedStyle(document.querySelector("h1")).color), "rgb(1, 2, 3)");
  assert.equal(await inside.evaluate(() => self.origin), "null");
  assert.notEqual(await inside.evaluate(() => document.title), "ran");

  await go(page, `#/sessions/${id}/timeline`);
  await page.getByRole("list", { name: "Timeline" }).getByText(MARKUP).first().waitFor();
  await go(page, "#/approvals");
  await page.getByText("danger").first().waitFor();
  await page.getByText("\\u{202e}").first().waitFor();
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("img[src=x]").count(), 0);
  assert.match(await page.title(), /workden/);
  // What the frame of the preview blocks is told in the console.
}, { permits: (text) => /Content Security Policy|^policy: (script-src-attr|img-src)/.test(text) });

// What the page may not do even if a script of an attacker were in it.
await inBrowser(async (page, { complaints }) => {
  await enter(page);
  const tried = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "window.inline = 1";
    document.body.append(script);
    const style = document.createElement("style");
    style.textContent = "body { color: red }";
    document.head.append(style);
    const fetched = await fetch("http://127.0.0.1:1/").then(() => "sent", (error) => error.name);
    return { inline: window.inline, fetched, framed: document.featurePolicy?.allowsFeature("camera") ?? false };
  });
  assert.equal(tried.inline, undefined);
  assert.equal(tried.framed, false);
  assert.ok(complaints.some((complaint) => complaint.includes("script-src")), complaints.join("\n"));
  assert.ok(complaints.some((complaint) => complaint.includes("style-src")));
  assert.ok(complaints.some((complaint) => complaint.includes("connect-src")));
  complaints.length = 0;
});

console.log("names, content, HTML, policy");
// A call still waits for its approval.
process.exit(0);
