/** Questions to the server; an API key, if one is needed, lives as long as this tab. */

const STORED = "fabcost-key";
const TIMEOUT = 8000;

/** The server has not answered what was asked. */
export class NoAnswerError extends Error {}

/** It wants a key, or another one. */
export class KeyNeededError extends NoAnswerError {}

/** It says that it cannot, for a reason of its own. */
export class RefusedError extends NoAnswerError {}

/** Whether a key is kept. */
export const hasKey = () => sessionStorage.getItem(STORED) !== null;

/** Keep a key for the questions to come, or forget it (null). */
export function keepKey(key) {
  if (key === null) sessionStorage.removeItem(STORED);
  else sessionStorage.setItem(STORED, key);
}

/** The JSON at a path below this page. */
export const ask = (path) => send(path, {}, "This key may not read this model.");

/** The answer to something that changes the server, which takes a key of that role. */
export function tell(method, path, body) {
  const request = { method, body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  return send(path, request, "This key may not do that: it needs the role admin.");
}

async function send(path, request, forbidden) {
  const key = sessionStorage.getItem(STORED);
  const headers = { ...request.headers, ...(key === null ? {} : { Authorization: `Bearer ${key}` }) };
  const answer = await reach(path, { ...request, headers });
  if (answer.status === 401) throw new KeyNeededError(refusal(key));
  if (answer.status === 403) throw new KeyNeededError(forbidden);
  if (!answer.ok) throw new RefusedError(`The server says: ${await reason(answer)}.`);
  return content(answer);
}

async function reach(path, request) {
  const signal = AbortSignal.timeout(TIMEOUT);
  try {
    return await fetch(new URL(path, document.baseURI), { ...request, cache: "no-store", signal });
  } catch {
    throw new NoAnswerError("The server cannot be reached.");
  }
}

async function content(answer) {
  try {
    return await answer.json();
  } catch {
    throw new NoAnswerError("The answer of the server broke off.");
  }
}

function refusal(key) {
  return key === null
    ? "An API key that may read is enough. It is kept in this tab only, until you close it."
    : "The server does not accept this key.";
}

async function reason(answer) {
  try {
    return (await answer.json()).error.message;
  } catch {
    return `status ${answer.status}`;
  }
}
