/**
 * A relay inside an application's own server: it adds the API key, and passes on to the service only what the application
 * allows. It runs wherever `Request` and `Response` are, and with `nodeListener` in servers of `node:http`.
 */
export {
  type NodeListener,
  type NodeRequest,
  type NodeResponse,
  nodeListener,
} from "./forwarding/nodeListener.js";
export type { RelayedTransaction } from "./forwarding/relayedTransaction.js";
export { createRelayHandler, type RelayHandler, type RelayOptions } from "./forwarding/relayHandler.js";
