/** What is to be said to the server, kept until it has acknowledged it. */

import { newId } from "./messages.js";

/** A decision that was shown, or feedback on one; `key` makes it the same when it is sent again. */
export interface Entry {
  readonly key: string;
  readonly decision_id: string;
  /** Of feedback; an activation has none. */
  readonly value?: number;
}

/** What of `localStorage` is used. */
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** More than so many are not kept, in store and memory together: the oldest go. */
const MOST = 1_000;

/**
 * Each entry has a place of its own in the store, so that tabs do not overwrite each other's.
 * Without a store, or where it is full or forbidden, entries are kept in memory.
 */
export class Outbox {
  readonly #memory = new Map<string, Entry>();

  constructor(
    /** By which places of this model are known. */
    private readonly prefix: string,
    private readonly store: Store | null,
  ) {}

  add(decision_id: string, value?: number, key: string = newId()): Entry {
    const entry = value === undefined ? { key, decision_id } : { key, decision_id, value };
    const kept = this.all();
    for (const old of kept.slice(0, Math.max(0, kept.length + 1 - MOST))) this.remove(old);
    try {
      // Places are in the order in which they were made.
      const place = `${this.prefix}${Date.now().toString().padStart(15, "0")}:${key}`;
      if (this.store === null) throw new Error("there is no store");
      this.store.setItem(place, JSON.stringify(entry));
    } catch {
      this.#memory.set(key, entry);
    }
    return entry;
  }

  /** All that is kept, the oldest first. */
  all(): Entry[] {
    return [...this.#stored(), ...this.#memory.values()];
  }

  remove(entry: Entry): void {
    this.#memory.delete(entry.key);
    for (const place of this.#places()) {
      if (place.endsWith(`:${entry.key}`)) this.store?.removeItem(place);
    }
  }

  #stored(): Entry[] {
    return this.#places().flatMap((place) => {
      const entry = readEntry(this.store?.getItem(place) ?? null);
      return entry === null ? [] : [entry];
    });
  }

  #places(): string[] {
    const store = this.store;
    if (store === null) return [];
    const all = Array.from({ length: store.length }, (_, index) => store.key(index) ?? "");
    return all.filter((place) => place.startsWith(this.prefix)).sort();
  }
}

function readEntry(text: string | null): Entry | null {
  try {
    const found = JSON.parse(text ?? "null") as Partial<Entry> | null;
    const sane = typeof found?.key === "string" && typeof found.decision_id === "string";
    return sane ? (found as Entry) : null;
  } catch {
    return null;
  }
}
