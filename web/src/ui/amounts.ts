// Sizes and times as people read them.

const UNITS = ["B", "KB", "MB", "GB", "TB"];

export function bytes(amount: number | null | undefined): string {
  if (amount === null || amount === undefined) return "–";
  let [value, unit] = [amount, 0];
  while (value >= 1000 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** `4s`, `12m`, `3h 5m`, `2d 4h`. */
export function span(millis: number): string {
  const seconds = Math.max(0, Math.floor(millis / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours}h ${minutes % 60}m` : `${hours}h`;
  const days = Math.floor(hours / 24);
  return hours % 24 ? `${days}d ${hours % 24}h` : `${days}d`;
}

/** `14:05` of a remaining time. */
export function countdown(millis: number): string {
  const seconds = Math.max(0, Math.ceil(millis / 1000));
  const pad = (n: number) => String(n).padStart(2, "0");
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)}:${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}`;
  return `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
}

/** `12 ms`, `1.3 s`, `2m`. */
export function duration(millis: number | undefined): string {
  if (millis === undefined) return "";
  if (millis < 1000) return `${Math.round(millis)} ms`;
  if (millis < 60_000) return `${(millis / 1000).toFixed(1)} s`;
  return span(millis);
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export function timeOfDay(moment: string): string {
  return CLOCK.format(new Date(moment));
}

export function dayAndTime(moment: string): string {
  return DAY.format(new Date(moment));
}

export function percent(part: number): string {
  return `${part >= 0.1 || part === 0 ? Math.round(part * 100) : (part * 100).toFixed(1)}%`;
}
