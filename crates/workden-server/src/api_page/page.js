"use strict";

// The key stays in this tab: it is neither stored nor part of an address.
const key = document.getElementById("key");
const filter = document.getElementById("filter");
const calls = document.getElementById("calls");
const MOST_SHOWN = 200_000;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Follows a reference of the description. */
function resolved(description, schema) {
  const path = schema?.$ref?.replace("#/", "").split("/");
  return path ? path.reduce((at, part) => at?.[part], description) : schema;
}

/** An example of a body: its required fields, and those with a default. */
function example(description, schema, depth = 0) {
  const known = resolved(description, schema) ?? {};
  const kind = Array.isArray(known.type) ? known.type.find((one) => one !== "null") : known.type;
  if (known.example !== undefined) return known.example;
  if (known.enum) return known.enum[0];
  if (known.properties && depth < 3) {
    const wanted = Object.keys(known.properties).filter((name) => known.required?.includes(name));
    return Object.fromEntries(wanted.map((name) => [name, example(description, known.properties[name], depth + 1)]));
  }
  return { array: [], boolean: false, integer: 0, number: 0, object: {}, string: "" }[kind] ?? null;
}

function field(name, note, control) {
  return element("label", {}, name, control, element("small", { textContent: note ?? "" }));
}

/** The answer as text; a stream is shown as it comes. */
async function show(response, output) {
  output.textContent = `${response.status} ${response.statusText}\n\n`;
  const decoder = new TextDecoder();
  let shown = 0;
  for await (const piece of response.body ?? []) {
    const text = decoder.decode(piece, { stream: true });
    shown += text.length;
    if (shown > MOST_SHOWN) {
      output.append("\n… the rest is not shown");
      return response.body.cancel?.();
    }
    output.append(text);
  }
  try {
    const [head, body] = output.textContent.split(/\n\n(.*)/s);
    output.textContent = `${head}\n\n${JSON.stringify(JSON.parse(body), null, 2)}`;
  } catch { /* The answer is not JSON. */ }
}

function form(description, method, path, call) {
  const parameters = (call.parameters ?? []).map((one) => resolved(description, one));
  const inputs = parameters.map((one) => [one, element("input", { name: one.name, required: one.required ?? false })]);
  const content = resolved(description, call.requestBody)?.content;
  const json = content?.["application/json"];
  const body = content && element("textarea", { rows: 6, spellcheck: false });
  if (json) body.value = JSON.stringify(example(description, json.schema), null, 2);
  const output = element("pre", { hidden: true });
  const made = element("form", {},
    ...inputs.map(([one, input]) => field(one.name, one.description, input)),
    ...(body ? [field("body", Object.keys(content).join(", "), body)] : []),
    element("button", { textContent: "Send" }), output);
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = (place) => inputs.filter(([one, input]) => one.in === place && input.value !== "");
    const address = values("path").reduce((text, [one, input]) =>
      text.replace(`{${one.name}}`, encodeURIComponent(input.value)), path);
    const query = new URLSearchParams(values("query").map(([one, input]) => [one.name, input.value]));
    const headers = key.value ? { authorization: `Bearer ${key.value}` } : {};
    if (body) headers["content-type"] = Object.keys(content)[0];
    output.hidden = false;
    output.textContent = "…";
    try {
      const target = query.size ? `${address}?${query}` : address;
      await show(await fetch(target, { method, headers, body: body?.value }), output);
    } catch (error) {
      output.textContent = `The call failed: ${error.message}`;
    }
  });
  return made;
}

function details(description, method, path, call) {
  const line = element("summary", {},
    element("b", { textContent: method }), element("code", { textContent: path }),
    element("span", { textContent: call.summary ?? "" }));
  const made = element("details", {}, line);
  made.dataset.words = `${method} ${path} ${call.summary ?? ""}`.toLowerCase();
  made.addEventListener("toggle", () => {
    if (!made.open || made.childElementCount > 1) return;
    made.append(element("p", { textContent: call.description ?? "" }), form(description, method, path, call));
  });
  return made;
}

function select() {
  const words = filter.value.toLowerCase();
  for (const one of calls.querySelectorAll("details")) one.hidden = !one.dataset.words.includes(words);
}

async function start() {
  const description = await (await fetch("/openapi.json")).json();
  const byTag = new Map();
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, call] of Object.entries(methods)) {
      const tag = call.tags?.[0] ?? "other";
      byTag.set(tag, [...(byTag.get(tag) ?? []), details(description, method.toUpperCase(), path, call)]);
    }
  }
  calls.replaceChildren(...[...byTag].flatMap(([tag, all]) => [element("h2", { textContent: tag }), ...all]));
  select();
}

filter.addEventListener("input", select);
start().catch((error) => calls.replaceChildren(element("p", { textContent: `The description is missing: ${error.message}` })));
