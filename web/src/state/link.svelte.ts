// Whether the live streams of the page are connected, for the line that says so.

const streams = $state<Record<string, boolean>>({});

export function reportLink(url: string, isOpen: boolean | undefined): void {
  if (isOpen === undefined) delete streams[url];
  else streams[url] = isOpen;
}

/** Whether a stream that should be open is not. */
export function isLost(): boolean {
  return Object.values(streams).includes(false);
}
