/** What is asked and answered, by the names of the HTTP API. */

export type Scalar = string | number | boolean | null;
/** Features by name; NaN is a missing number, as null is. */
export type FeatureRecord = Record<string, Scalar>;
export type Filter = Record<
  string,
  string | boolean | number | string[] | { min?: number; max?: number }
>;

/** Which item to show: candidates with features, or items of the catalogue, or all that it has. */
export interface DecisionRequest {
  decision_id?: string;
  context?: FeatureRecord;
  candidates?: Record<string, FeatureRecord>;
  items?: readonly string[];
  filter?: Filter;
  exclude?: readonly string[];
  top_k?: number;
  /** The decision counts only once it is activated: see `Client.whenSeen`. */
  deferred?: boolean;
  values?: Record<string, number>;
  costs?: Record<string, number>;
}

/** The chosen item first, then the best of the others. */
export interface Decision {
  readonly decision_id: string;
  readonly item: string;
  readonly ranking: readonly string[];
  readonly scores: readonly number[];
  readonly propensities: readonly number[] | null;
  /** "fallback" was chosen here, since no answer came in time: the server knows nothing of it. */
  readonly arm: "bandit" | "holdback" | "baseline" | "imported" | "fallback";
  readonly posterior_version: string;
  readonly deadline: number;
  readonly durable: boolean;
}

/** What became of a decision; the same key again is the same feedback again. */
export interface Feedback {
  decision_id: string;
  value?: number;
  key?: string;
}

export interface FeedbackAnswer {
  readonly decision_id: string;
  readonly status: "applied" | "recorded" | "duplicate" | "late" | "parked" | "ignored";
}

/** An error if a record has an infinity, which JSON would silently make missing. */
export function checkRecord(of: string, record: FeatureRecord): void {
  for (const [name, value] of Object.entries(record)) {
    if (value === Infinity || value === -Infinity) {
      throw new RangeError(`'${name}' of ${of} is ${value} but must be finite, or null if missing`);
    }
  }
}

/** An error if one of the amounts is not a finite number. */
export function checkAmounts(of: string, amounts: Record<string, number>): void {
  for (const [item, value] of Object.entries(amounts)) {
    if (!Number.isFinite(value)) {
      throw new RangeError(`${of} has ${value} for '${item}' but must have finite numbers`);
    }
  }
}

/** The value of feedback, or an error if it is not a finite number. */
export function checkedValue(value: number): number {
  if (!Number.isFinite(value)) throw new RangeError(`value is ${value} but must be finite`);
  return value;
}

/** A new id of 128 random bits; `crypto.randomUUID` is not there on plain http pages. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
}
