// A call that failed: the sentence and the hint that the service gave, or what is known without an answer.

export class ApiFailure extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
    readonly hint: string | undefined,
  ) {
    super(message);
  }

  /** Whether the server has no such route, and so is an older one. */
  get isMissingRoute(): boolean {
    return this.status === 404 && /^path `/.test(this.message);
  }
}

/** The failure of a call that got no answer. */
export function unreachable(): ApiFailure {
  return new ApiFailure(0, "unreachable", "the service does not answer", "it is tried again by itself");
}

/** Reads the failure from an answer. */
export async function failureOf(answer: Response): Promise<ApiFailure> {
  const text = await answer.text().catch(() => "");
  try {
    const { error } = JSON.parse(text) as { error: { kind: string; message: string; hint?: string } };
    return new ApiFailure(answer.status, error.kind, error.message, error.hint);
  } catch {
    return new ApiFailure(answer.status, "unknown", `the service answered with ${answer.status}`, undefined);
  }
}

export function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  if (error instanceof TypeError) return unreachable();
  return new ApiFailure(0, "unknown", error instanceof Error ? error.message : String(error), undefined);
}
