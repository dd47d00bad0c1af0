// Rank, activate and reward with one of the clients; what they answered, as a line of JSON.
import rest from "@azure-rest/ai-personalizer";
import { PersonalizerClient } from "@azure/cognitiveservices-personalizer";
import { ApiKeyCredentials } from "@azure/ms-rest-js";

const [which, endpoint, key, body] = process.argv.slice(2);
const request = JSON.parse(body);

function firstClient() {
  const header = { "Ocp-Apim-Subscription-Key": key };
  const client = new PersonalizerClient(new ApiKeyCredentials({ inHeader: header }), endpoint);
  // This client forgets its own path if the endpoint has one.
  if (new URL(endpoint).pathname !== "/") client.baseUri = `${endpoint}/personalizer/v1.0`;
  const plain = async (answer) => {
    const { status, bodyAsText } = (await answer)._response;
    return { status, body: bodyAsText ? JSON.parse(bodyAsText) : null };
  };
  return {
    rank: () => plain(client.rank(request)),
    activate: (event) => plain(client.events.activate(event)),
    reward: (event, value) => plain(client.events.reward(event, { value })),
  };
}

function restClient() {
  const options = { allowInsecureConnection: true };
  const client = rest.default(endpoint, { key }, options);
  const plain = async (answer) => {
    const { status, body } = await answer;
    const found = { status: Number(status), body: body || null };
    if (found.status >= 400) throw Object.assign(new Error(body.error.message), found);
    return found;
  };
  return {
    rank: () => plain(client.path("/rank").post({ body: request })),
    activate: (event) => plain(client.path("/events/{eventId}/activate", event).post()),
    reward: (event, value) =>
      plain(client.path("/events/{eventId}/reward", event).post({ body: { value } })),
  };
}

const client = which === "first" ? firstClient() : restClient();
try {
  const ranked = await client.rank();
  const event = ranked.body.eventId;
  const activated = await client.activate(event);
  const rewarded = await client.reward(event, 1);
  const again = await client.rank();
  console.log(JSON.stringify({ ranked, activated, rewarded, again }));
} catch (error) {
  const status = error.statusCode ?? error.status ?? null;
  console.log(JSON.stringify({ refused: { status, message: error.message } }));
}
