// An agent in a session: calls with the token of the session, one after the other, at a pace that people can follow. A call
// that is refused is a part of the demo, and ends nothing.

const PACE = 250;

export class SessionAgent {
  readonly #base: string;

  constructor(
    session: string,
    private readonly token: string,
  ) {
    this.#base = `/v1/sessions/${encodeURIComponent(session)}`;
  }

  run(command: string): Promise<void> {
    return this.#call("POST", "/commands", JSON.stringify({ command, timeout_seconds: 60 }));
  }

  job(command: string): Promise<void> {
    return this.#call("POST", "/jobs", JSON.stringify({ command }));
  }

  write(path: string, content: string): Promise<void> {
    return this.#call("PUT", `/files?path=${encodeURIComponent(path)}`, content, "application/octet-stream");
  }

  read(path: string): Promise<void> {
    return this.#call("GET", `/files?path=${encodeURIComponent(path)}`);
  }

  edit(path: string, from: string, to: string): Promise<void> {
    const call = { name: "edit_file", arguments: { path, old_string: from, new_string: to } };
    return this.#call("POST", "/tools", JSON.stringify(call));
  }

  search(pattern: string): Promise<void> {
    return this.#call("POST", "/search/lines", JSON.stringify({ pattern }));
  }

  async #call(method: string, path: string, body?: string, type = "application/json"): Promise<void> {
    const headers = { Authorization: `Bearer ${this.token}`, ...(body === undefined ? {} : { "Content-Type": type }) };
    // The page may be closed in the middle; a session without its agent is no failure.
    await fetch(this.#base + path, { method, headers, body: body ?? null, credentials: "omit" }).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, PACE));
  }
}
