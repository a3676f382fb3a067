// Where the page is, as the hash of its address: `#/sessions/ID/timeline?at=12`. The server knows one page only.

export interface Route {
  parts: string[];
  query: URLSearchParams;
}

let route = $state.raw<Route>(parsed());

function parsed(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { parts: parts.length > 0 ? parts : ["sessions"], query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function startRouting(): void {
  addEventListener("hashchange", () => (route = parsed()));
  route = parsed();
}

export function currentRoute(): Route {
  return route;
}

export function link(parts: (string | number)[], query?: Record<string, string | number>): string {
  const path = parts.map((part) => encodeURIComponent(part)).join("/");
  const more = query ? `?${new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)]))}` : "";
  return `#/${path}${more}`;
}

export function go(...parts: (string | number)[]): void {
  location.hash = link(parts);
}

/** Changes the query of the address without a step in the history. */
export function setQuery(query: Record<string, string>): void {
  history.replaceState(null, "", link(route.parts, query));
  route = parsed();
}
