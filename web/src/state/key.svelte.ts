// The API key: asked for once, kept for this tab, or for this browser if the user says so. A link with `#key=...` brings
// it, and the address bar forgets it before anything else happens.

import type { ApiFailure } from "../api/failure";

const NAME = "workden.key";

let key = $state(stored());
let refusal = $state<ApiFailure>();

function stored(): string | undefined {
  try {
    return sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Takes the key out of the address. Call it before anything else. */
export function takeKeyFromAddress(): void {
  const found = /^#key=([^&]+)/.exec(location.hash)?.[1];
  if (!found) return;
  history.replaceState(null, "", `${location.pathname}#/sessions`);
  useKey(decodeURIComponent(found), "tab");
}

export function currentKey(): string | undefined {
  return key;
}

/** Why the last key is not used any more. */
export function keyRefusal(): ApiFailure | undefined {
  return refusal;
}

export function useKey(next: string, remember: "tab" | "browser"): void {
  key = next;
  refusal = undefined;
  try {
    sessionStorage.setItem(NAME, next);
    if (remember === "browser") localStorage.setItem(NAME, next);
  } catch {
    // Without storage the key lasts as long as the page.
  }
}

export function forgetKey(why?: ApiFailure): void {
  // A call without a key is refused, too, and says nothing about the key before.
  if (key !== undefined) refusal = why;
  key = undefined;
  try {
    sessionStorage.removeItem(NAME);
    localStorage.removeItem(NAME);
  } catch {
    // There is none.
  }
}
