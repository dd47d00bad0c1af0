/** Decisions and feedback of a fabcost server. */

export { Client, type Options, type Otherwise } from "./client.js";
export { ClientError, type Retries } from "./exchange.js";
export type {
  Decision,
  DecisionRequest,
  FeatureRecord,
  Feedback,
  FeedbackAnswer,
  Filter,
  Scalar,
} from "./messages.js";
export type { Store } from "./outbox.js";
export { whenSeen, type Sight } from "./seen.js";
