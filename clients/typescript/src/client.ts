/** A model of a server, as pages, workers and programs use it. */

import {
  backoff,
  type Call,
  type ClientError,
  exchange,
  type Fetch,
  PATIENT,
  type Retries,
} from "./exchange.js";
import {
  checkAmounts,
  checkedValue,
  checkRecord,
  type Decision,
  type DecisionRequest,
  type Feedback,
  type FeedbackAnswer,
  newId,
} from "./messages.js";
import { type Entry, Outbox, type Store } from "./outbox.js";
import { type Sight, whenSeen } from "./seen.js";

export interface Options {
  /** Where the server is, as https://bandit.example. */
  url: string;
  model: string;
  /** In a page a publishable one, which begins with fp_. */
  key?: string;
  /** Milliseconds that one attempt may take. */
  timeout?: number;
  retries?: Partial<Retries>;
  /** Where feedback is kept until it is acknowledged: localStorage in a page, else memory. */
  store?: Store | null;
  /** Told of feedback that could not be sent yet, or was refused for good, and of fallbacks. */
  onError?: (error: ClientError) => void;
  fetch?: Fetch;
}

/** What to show when no answer comes in time, and how many milliseconds that is. */
export interface Otherwise {
  fallback?: string;
  timeLimit?: number;
}

/** What the entry itself is at fault for: sent again, it would be refused again. */
const HOPELESS = new Set([400, 413, 415, 422]);
/** Entries in one request; a beacon may have 64 KiB. */
const AT_ONCE = 100;
const TIME_LIMIT = 1_000;

export class Client {
  readonly #base: string;
  readonly #key: string | undefined;
  readonly #timeout: number;
  readonly #retries: Retries;
  readonly #outbox: Outbox;
  readonly #onError: (error: ClientError) => void;
  readonly #fetch: Fetch;
  /** Keys of entries that are being sent. */
  readonly #underway = new Set<string>();
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #leave = (): void => {
    if (document.visibilityState === "hidden") this.sendBeacons();
  };

  constructor(options: Options) {
    const { url, model, key } = options;
    if (!/^https?:\/\//.test(url)) {
      throw new TypeError(`url is '${url}' but must begin with http:// or https://`);
    }
    if (isPage() && key?.startsWith("fc_")) {
      throw new TypeError("key is a secret one, which a page must not have: make a publishable one");
    }
    this.#base = `${url.replace(/\/+$/, "")}/v1/models/${encodeURIComponent(model)}`;
    this.#key = key;
    this.#timeout = options.timeout ?? 10_000;
    this.#retries = { ...PATIENT, ...options.retries };
    const store = options.store === undefined ? storeOfPage() : options.store;
    this.#outbox = new Outbox(`fabcost:${this.#base}:`, store);
    this.#onError = options.onError ?? (() => {});
    this.#fetch = options.fetch ?? ((address, init) => fetch(address, init));
    if (isPage()) {
      addEventListener("pagehide", this.sendBeacons);
      document.addEventListener("visibilitychange", this.#leave);
      // What an earlier page did not get rid of.
      if (this.pending > 0) this.flush().catch(() => {});
    }
  }

  /**
   * Which item to show. The id, given or made here, makes repeated attempts the same decision.
   * With a `fallback` there is always an answer: that item, if the server's does not come in time.
   */
  async decide(request: DecisionRequest & Otherwise = {}): Promise<Decision> {
    const { fallback, timeLimit, ...asked } = request;
    const body = { ...asked, decision_id: asked.decision_id ?? newId() };
    checkRecord("the context", body.context ?? {});
    for (const [item, features] of Object.entries(body.candidates ?? {})) {
      checkRecord(`candidate '${item}'`, features);
    }
    checkAmounts("values", body.values ?? {});
    checkAmounts("costs", body.costs ?? {});
    const limit = timeLimit ?? (fallback === undefined ? this.#retries.deadline : TIME_LIMIT);
    try {
      return (await this.#ask("decisions", body, limit)) as Decision;
    } catch (error) {
      if (fallback === undefined) throw error;
      this.#onError(error as ClientError);
      return notDecided(body.decision_id, fallback);
    }
  }

  /**
   * What became of a decision. It is kept before anything is sent, and until the server has it.
   * If it rejects, the server does not have it yet: it goes on being sent, by later pages too.
   */
  async feedback(decision: Decision | string, value = 1, key?: string): Promise<FeedbackAnswer> {
    const decision_id = idOf(decision);
    const finite = checkedValue(value);
    if (decision_id === null) return { decision_id: "", status: "ignored" };
    const entry = this.#outbox.add(decision_id, finite, key);
    return (await this.#deliver(entry, "feedback", entry)) as FeedbackAnswer;
  }

  /** What became of many decisions, in one request. */
  async feedbackBulk(feedback: readonly Feedback[]): Promise<FeedbackAnswer[]> {
    // All are looked at before any is kept.
    const checked = feedback.map((each) => ({ ...each, value: checkedValue(each.value ?? 1) }));
    const entries = checked.map((each) => this.#outbox.add(each.decision_id, each.value, each.key));
    const answers: FeedbackAnswer[] = [];
    for (const part of parts(entries)) answers.push(...(await this.#deliverAll(part)));
    return answers;
  }

  /** Let a deferred decision count; false if it is none, unknown, or counts already. */
  async activate(decision: Decision | string): Promise<boolean> {
    const decision_id = idOf(decision);
    if (decision_id === null) return false;
    const entry = this.#outbox.add(decision_id);
    const answer = await this.#deliver(entry, "activations", { decision_id });
    return (answer as { activated: boolean }).activated;
  }

  /** Activates a deferred decision once its element was in view; what it returns stops looking. */
  whenSeen(element: Element, decision: Decision | string, sight?: Sight): () => void {
    return whenSeen(element, () => void this.activate(decision).catch(() => {}), sight);
  }

  /** How much the server has not acknowledged. */
  get pending(): number {
    return this.#outbox.all().length;
  }

  /** Send what is kept; rejects if some of it must be kept on. */
  async flush(): Promise<void> {
    const waiting = this.#outbox.all().filter((each) => !this.#underway.has(each.key));
    for (const part of parts(waiting)) await this.#deliverAll(part);
  }

  /** Hand all that is kept to the browser, which sends it also when the page is gone. */
  readonly sendBeacons = (): void => {
    const query = this.#key === undefined ? "" : `?key=${encodeURIComponent(this.#key)}`;
    for (const part of parts(this.#outbox.all())) {
      // As text: of that browsers do not ask before whether they may, which would come too late.
      const body = new Blob([JSON.stringify(told(part))], { type: "text/plain" });
      navigator.sendBeacon(`${this.#base}/beacons${query}`, body);
    }
  };

  /** Stop listening to the page, and trying again. */
  close(): void {
    clearTimeout(this.#timer);
    if (isPage()) {
      removeEventListener("pagehide", this.sendBeacons);
      document.removeEventListener("visibilitychange", this.#leave);
    }
  }

  async #ask(path: string, body: unknown, deadline?: number): Promise<unknown> {
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (this.#key !== undefined) headers["authorization"] = `Bearer ${this.#key}`;
    const call: Call = { url: `${this.#base}/${path}`, headers, body: JSON.stringify(body) };
    const retries = { ...this.#retries, deadline: deadline ?? this.#retries.deadline };
    return exchange(call, retries, this.#timeout, this.#fetch);
  }

  async #deliver(entry: Entry, path: string, body: unknown): Promise<unknown> {
    this.#underway.add(entry.key);
    try {
      const answer = await this.#ask(path, body);
      this.#outbox.remove(entry);
      this.#failures = 0;
      return answer;
    } catch (error) {
      throw this.#kept([entry], error as ClientError);
    } finally {
      this.#underway.delete(entry.key);
    }
  }

  async #deliverAll(entries: readonly Entry[]): Promise<readonly FeedbackAnswer[]> {
    for (const each of entries) this.#underway.add(each.key);
    try {
      const answer = await this.#ask("beacons", told(entries));
      for (const each of entries) this.#outbox.remove(each);
      this.#failures = 0;
      return (answer as { feedback: FeedbackAnswer[] }).feedback;
    } catch (error) {
      const failure = error as ClientError;
      if (entries.length === 1 || !HOPELESS.has(failure.status ?? 0)) {
        throw this.#kept(entries, failure);
      }
    } finally {
      for (const each of entries) this.#underway.delete(each.key);
    }
    // One of them is at fault: each by itself, the others are taken.
    const settled = await Promise.allSettled(entries.map((each) => this.#deliverAll([each])));
    const failed = settled.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return settled.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  }

  /** What is refused for good goes, all else is sent again later. */
  #kept(entries: readonly Entry[], error: ClientError): ClientError {
    if (HOPELESS.has(error.status ?? 0)) {
      for (const each of entries) this.#outbox.remove(each);
    } else {
      this.#failures += 1;
      clearTimeout(this.#timer);
      const slowly = { ...this.#retries, longest: 6 * this.#retries.longest };
      const pause = backoff(this.#failures, slowly);
      this.#timer = setTimeout(() => this.flush().catch(() => {}), pause);
      // A program need not wait for it.
      (this.#timer as { unref?: () => void }).unref?.();
    }
    this.#onError(error);
    return error;
  }
}

function isPage(): boolean {
  return typeof document !== "undefined";
}

function storeOfPage(): Store | null {
  try {
    return isPage() ? localStorage : null;
  } catch {
    return null;
  }
}

/** None of a fallback: nobody decided it, and what the server may have decided was not shown. */
function idOf(decision: Decision | string): string | null {
  if (typeof decision === "string") return decision;
  return decision.arm === "fallback" ? null : decision.decision_id;
}

function notDecided(decision_id: string, item: string): Decision {
  return {
    decision_id,
    item,
    ranking: [item],
    scores: [],
    propensities: null,
    arm: "fallback",
    posterior_version: "",
    deadline: 0,
    durable: false,
  };
}

function told(entries: readonly Entry[]): unknown {
  const seen = entries.filter((each) => each.value === undefined);
  const feedback = entries.filter((each) => each.value !== undefined);
  return { activations: seen.map((each) => each.decision_id), feedback };
}

function parts(entries: readonly Entry[]): Entry[][] {
  const many = Math.ceil(entries.length / AT_ONCE);
  return Array.from({ length: many }, (_, i) => entries.slice(i * AT_ONCE, (i + 1) * AT_ONCE));
}
