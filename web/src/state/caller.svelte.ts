// Who the key is, and how far the clock of this machine is from that of the service.

import { get } from "../api/client";
import { asFailure, type ApiFailure } from "../api/failure";
import type { Caller } from "../api/types";

let caller = $state<Caller>();
let failure = $state<ApiFailure>();
let ahead = 0;

export async function readCaller(): Promise<void> {
  try {
    const found = await get<Caller>("/v1/caller");
    ahead = Date.now() - Date.parse(found.now);
    [caller, failure] = [found, undefined];
  } catch (error) {
    [caller, failure] = [undefined, asFailure(error)];
  }
}

export function forgetCaller(): void {
  [caller, failure] = [undefined, undefined];
}

export function currentCaller(): Caller | undefined {
  return caller;
}

export function callerFailure(): ApiFailure | undefined {
  return failure;
}

export function isAdmin(): boolean {
  return caller?.role === "admin";
}

/** The time of the service. */
export function serviceNow(): number {
  return Date.now() - ahead;
}
