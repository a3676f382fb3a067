// A browser at the dashboard of a service, and calls to its API beside it. Every page is watched: a request to another host,
// an error in the console or a violation of the policy of the page fails the test.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { existsSync, mkdirSync, readFileSync } from "node:fs";

// The packages are in the directory in which the test starts.
const require = createRequire(join(process.cwd(), "here.js"));
const { chromium } = require("playwright-core");

export const url = process.env.WORKDEN_URL;
export const key = process.env.WORKDEN_API_KEY;
const pictures = process.env.WORKDEN_PICTURES;

/** The machine may be busy: what is waited for comes, or the test fails after minutes. */
const PATIENCE = 120_000;

/** Calls the API. */
export async function api(method, path, body, more = {}) {
  const json = body !== undefined && !(body instanceof Uint8Array) && typeof body !== "string";
  const answer = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, ...(json ? { "Content-Type": "application/json" } : {}), ...more },
    body: json ? JSON.stringify(body) : body,
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text && answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
}

export async function session(options = {}) {
  return api("POST", "/v1/sessions", { labels: { test: "dashboard" }, ...options });
}

export async function write(id, path, content) {
  return api("PUT", `/v1/sessions/${id}/files?path=${encodeURIComponent(path)}`, content);
}

export async function read(id, path) {
  return api("GET", `/v1/sessions/${id}/files?path=${encodeURIComponent(path)}`);
}

export async function run(id, command) {
  return api("POST", `/v1/sessions/${id}/commands`, { command });
}

/** Runs a test in a browser of its own. */
export async function inBrowser(test, { theme = "dark", width = 1280, height = 800, permits } = {}) {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
  try {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" });
    context.setDefaultTimeout(PATIENCE);
    const complaints = [];
    const page = await watched(context, complaints, { permits });
    await test(page, { context, browser, complaints });
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
  }
}

/** Opens a page whose complaints are kept. */
export async function watched(context, complaints, { permits = () => false } = {}) {
  // The viewer of PDF files is a part of the browser.
  const isOwn = (to) => to.startsWith(url) || /^(blob|data|about|chrome|chrome-extension):/.test(to);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.on("console", (message) => {
    // A call that the service refuses is an error in the console, and shown in the page.
    const isAnswer = /the server responded with a status of 4\d\d/.test(message.text());
    if (message.type() === "error" && !isAnswer && !permits(message.text())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(`${error.message}\n${error.stack}`));
  page.on("requestfinished", (request) => isOwn(request.url()) || complaints.push(`a request to ${request.url()}`));
  page.on("requestfailed", (request) => {
    // What the policy of a page forbids is not sent.
    const isSent = request.failure()?.errorText !== "csp";
    if (isSent && !isOwn(request.url())) complaints.push(`a request to ${request.url()}: ${request.failure()?.errorText}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  return page;
}

/** Opens the page with the key in the address, as the link of the start-up message does. */
export async function enter(page, hash = "") {
  await page.goto(`${url}/#key=${key}`);
  await page.getByRole("heading", { name: "Sessions", level: 1 }).waitFor();
  assert.ok(!page.url().includes(key), "the key has left the address");
  if (hash) await go(page, hash);
}

export async function go(page, hash) {
  await page.evaluate((hash) => (location.hash = hash), hash);
}

/** Fails if a rule of axe-core is violated in what the page shows now. */
export async function accessible(page, what) {
  const axe = readFileSync(join(process.cwd(), "node_modules/axe-core/axe.min.js"), "utf8");
  // The policy of the page permits no script from outside of it; the inspector may run one.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join("\n    ")}`);
  assert.deepEqual(found, [], `${what} is not accessible`);
}

/** Keeps a picture, where the test was told to. */
export async function picture(page, name) {
  if (!pictures) return;
  if (!existsSync(pictures)) mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** Waits until a check passes. */
export async function eventually(check, what) {
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const found = await check().catch(() => undefined);
    if (found) return found;
    assert.ok(Date.now() < deadline, `${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export { assert };
