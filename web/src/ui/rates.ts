// From a count that only grows, how much it grew in each second.

export interface Point {
  at: number;
  value: number;
}

export function perSecond(points: readonly Point[]): Point[] {
  return points.slice(1).flatMap((point, index) => {
    const before = points[index];
    if (!before || point.at <= before.at) return [];
    // A sandbox that was started again counts from nothing.
    const grown = Math.max(0, point.value - before.value);
    return [{ at: point.at, value: grown / ((point.at - before.at) / 1000) }];
  });
}
