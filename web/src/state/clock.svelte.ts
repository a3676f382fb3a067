// The current second, for ages and remaining times. One timer for the whole page, which rests while it is hidden.

import { serviceNow } from "./caller.svelte";

let now = $state(serviceNow());

setInterval(() => {
  if (!document.hidden) now = serviceNow();
}, 1000);
document.addEventListener("visibilitychange", () => (now = serviceNow()));

export function clock(): number {
  return now;
}
