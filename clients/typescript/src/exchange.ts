/** What is done for one call, whatever goes wrong: attempts, pauses, and the error in the end. */

/** A call that failed; `code` is for programs, the message for people. */
export class ClientError extends Error {
  override readonly name = "ClientError";

  constructor(
    /** The server's, as "unknown_model"; or "unreachable", "interrupted", "unexpected_answer". */
    readonly code: string,
    message: string,
    /** Of the HTTP answer, null if there was none. */
    readonly status: number | null = null,
    /** Under which the server's log has the request. */
    readonly requestId: string | null = null,
  ) {
    super(message);
  }
}

/** How often a call is tried again; pauses grow twofold, with jitter. In milliseconds. */
export interface Retries {
  /** At most so many, the first included. */
  attempts: number;
  /** The first pause, and the longest. */
  first: number;
  longest: number;
  /** For all attempts and pauses together. */
  deadline: number;
}

export const PATIENT: Retries = { attempts: 6, first: 100, longest: 5_000, deadline: 30_000 };

/** Answers after which another attempt may succeed. */
const PASSING = new Set([429, 502, 503, 504]);

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Call {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** The answer, or a ClientError. A call has its ids in its body: many times is the same as once. */
export async function exchange(
  call: Call,
  retries: Retries,
  timeout: number,
  send: Fetch,
): Promise<unknown> {
  const end = performance.now() + retries.deadline;
  for (let attempt = 1; ; attempt += 1) {
    const left = end - performance.now();
    const outcome = await attempted(call, Math.max(1, Math.min(timeout, left)), send);
    if (!(outcome instanceof Refused)) return outcome;
    const pause = Math.max(outcome.asked, backoff(attempt, retries));
    const over = attempt >= retries.attempts || performance.now() + pause >= end;
    if (!outcome.passing || over) throw outcome.error;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Between half and all: clients that failed together do not return together. */
export function backoff(attempt: number, retries: Retries): number {
  const longest = Math.min(retries.longest, retries.first * 2 ** Math.min(attempt - 1, 60));
  return (0.5 + 0.5 * Math.random()) * longest;
}

class Refused {
  constructor(
    readonly error: ClientError,
    readonly passing: boolean,
    /** Milliseconds that the server asks to wait. */
    readonly asked = 0,
  ) {}
}

async function attempted(call: Call, timeout: number, send: Fetch): Promise<unknown> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeout);
  try {
    const answer = await send(call.url, {
      method: "POST",
      headers: call.headers,
      body: call.body,
      cache: "no-store",
      credentials: "omit",
      signal: controller.signal,
    });
    return await read(answer);
  } catch (error) {
    if (controller.signal.aborted) {
      return lost("interrupted", `no answer within ${Math.round(timeout)} ms`);
    }
    return lost("unreachable", error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(timer);
  }
}

function lost(code: string, why: string): Refused {
  return new Refused(new ClientError(code, why), true);
}

async function read(answer: Response): Promise<unknown> {
  const text = await answer.text();
  const found = parsed(text);
  if (answer.ok && found !== undefined) return found;
  const { status } = answer;
  const problem = (found as { error?: Record<string, string> } | undefined)?.error;
  const said = problem?.["message"] ?? `the answer has status ${status} and is none of the service`;
  const identity = problem?.["request_id"] ?? answer.headers.get("x-request-id");
  const error = new ClientError(problem?.["code"] ?? "unexpected_answer", said, status, identity);
  const asked = answer.headers.get("retry-after") ?? "";
  const seconds = /^\d+$/.test(asked) ? Number(asked) : 0;
  return new Refused(error, PASSING.has(status), 1_000 * seconds);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
