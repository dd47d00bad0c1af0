/** Does what a test asks for, by the client in TypeScript; the same in Node and in a page. */

export function driver({ Client, ClientError }) {
  const clients = new Map();

  /** Loses some requests before they are sent, and some answers. */
  function losing({ seed, share }) {
    let state = seed;
    const random = () => (state = (1_103_515_245 * state + 12_345) % 2 ** 31) / 2 ** 31;
    return async (url, init) => {
      const fate = random();
      if (fate < share / 2) throw new TypeError("lost on the way there");
      const answer = await fetch(url, init);
      if (fate < share) throw new TypeError("lost on the way back");
      return answer;
    };
  }

  function opened({ losses, ...options }) {
    const name = JSON.stringify({ losses, ...options });
    if (!clients.has(name)) {
      const added = losses ? { fetch: losing(losses) } : {};
      clients.set(name, new Client({ ...options, ...added }));
    }
    return clients.get(name);
  }

  /** One who visits: decides, clicks or not, and tells; what the client said of it. */
  async function visit(client, number) {
    const decision = await client.decide({ context: { hour: number % 24 } });
    const value = number % 2;
    try {
      const { status } = await client.feedback(decision, value, `visit-${decision.decision_id}`);
      return { ...decision, value, status };
    } catch (error) {
      return { ...decision, value, status: error.code };
    }
  }

  /** So many visits, a few at a time, each after the other. */
  async function visits(client, { count, lanes }) {
    const found = [];
    let next = 0;
    const lane = async () => {
      while (next < count) found.push(await visit(client, next++));
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    while (client.pending > 0) await client.flush().catch(() => {});
    return found;
  }

  /** Answers by a list: a status and what else an answer has, or silence until it is given up. */
  function listed(events, sent, latest) {
    return async (_, init) => {
      const event = events.shift() ?? "silence";
      sent.push({ body: init.body, timeout: latest() });
      if (event === "silence") {
        return new Promise((_, reject) => {
          init.signal.addEventListener("abort", () => reject(new Error("given up")));
        });
      }
      const { status, retryAfter = null, body = "" } = event;
      const headers = { get: (name) => (name === "retry-after" ? retryAfter : null) };
      return { ok: status < 300, status, headers, text: async () => body };
    };
  }

  /** A call to which these events happen, by a clock that only timers move; no time passes. */
  async function played({ events, options, method, given }) {
    const { setTimeout, clearTimeout, performance } = globalThis;
    const [timers, sent, waits] = [new Map(), [], []];
    let [now, made] = [0, 0];
    globalThis.setTimeout = (run, delay) => {
      timers.set((made += 1), { at: now + delay, delay, run });
      return made;
    };
    globalThis.clearTimeout = (timer) => timers.delete(timer);
    Object.defineProperty(globalThis, "performance", { value: { now: () => now }, configurable: true });
    const fetch = listed(events, sent, () => [...timers.values()].at(-1).delay);
    const client = new Client({ url: "http://none.example", model: "m", store: null, ...options, fetch });
    let outcome;
    client[method](...given).then(
      (value) => (outcome = { value }),
      ({ code, status }) => (outcome = { error: { code, status } }),
    );
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (outcome !== undefined) break;
      const [first] = [...timers].sort(([, a], [, b]) => a.at - b.at);
      timers.delete(first[0]);
      waits.push(first[1].delay);
      now = first[1].at;
      first[1].run();
    }
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Object.defineProperty(globalThis, "performance", { value: performance, configurable: true });
    return { ...outcome, sent, waits, now, pending: client.pending };
  }

  /** What is kept in memory of so many that nobody takes: how much, and the oldest. */
  async function kept(count) {
    const bodies = [];
    const fetch = async (_, init) => {
      bodies.push(init.body);
      throw new TypeError("nobody is there");
    };
    const retries = { attempts: 1, first: 1e6, longest: 1e6 };
    const client = new Client({ url: "http://none.example", model: "m", store: null, retries, fetch });
    await Promise.allSettled(Array.from({ length: count }, (_, k) => client.feedback(`d-${k}`)));
    bodies.length = 0;
    await client.flush().catch(() => {});
    client.close();
    return { pending: client.pending, oldest: JSON.parse(bodies[0]).feedback[0].decision_id };
  }

  const more = {
    visits,
    played: async (_, asked) => played(asked),
    kept: async (_, count) => kept(count),
    pending: async (client) => client.pending,
    attempt: async (client, ...given) => {
      const begun = performance.now();
      const decision = await client.decide(...given);
      return { decision, milliseconds: performance.now() - begun };
    },
  };

  return async ({ options, method, given }) => {
    try {
      const client = opened(options);
      const asked = method in more ? more[method](client, ...given) : client[method](...given);
      return { value: (await asked) ?? null };
    } catch (error) {
      const { code, message, status, requestId } = error;
      const own = error instanceof ClientError;
      return { error: own ? { code, message, status, requestId } : { code: error.name, message } };
    }
  };
}

/** In Node: a line of JSON is asked, and one is answered. */
export async function main(module) {
  const { createInterface } = await import("node:readline");
  const answer = driver(module);
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
  }
}
