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

  const more = {
    visits,
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
