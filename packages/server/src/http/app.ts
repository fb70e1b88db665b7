import type { IncomingMessage } from "node:http";
import type { NewBlocks } from "../gateway/feed/blockFeed.js";
import type { GatewayRpc } from "../gateway/nodeReader.js";
import type { ConfiguredGrants } from "../keys/configuredGrants.js";
import type { KeyDirectory } from "../keys/directory.js";
import type { TokenStore } from "../store/keys/tokenStore.js";
import { createAuthenticator, partyOfRequest } from "./authenticator.js";
import { createBaseApp } from "./base.js";
import { createClientAddress } from "./clientAddress.js";
import { registerCors } from "./cors.js";
import { buildGateway } from "./gateway/buildGateway.js";
import { serveGateway } from "./gateway/route.js";
import { BodyMemoryBudget } from "./limits/bodyMemoryBudget.js";
import type { FailedAuthentications } from "./limits/failedAuthentications.js";
import { createRateLimiter } from "./limits/rateLimiter.js";
import { createReadLimiter } from "./limits/readLimiter.js";
import { PUBLIC_ROUTES } from "./paths.js";
import type { NetworkApp, Port } from "./port/port.js";
import { registerRoutes } from "./routes/index.js";
import type { NetworkServices } from "./routes/routeHandler.js";
import { acceptSockets, isSocketRequest } from "./socket/socket.js";

export interface AppDependencies extends NetworkServices {
  readonly keys: KeyDirectory;
  readonly configuredKeys: ConfiguredGrants;
  readonly failures: FailedAuthentications;
  /** The tokens that all replicas share. */
  readonly tokenStore: TokenStore;
  /** Aborted when the service begins to shut down. */
  readonly leaving: AbortSignal;
  /** The nodes, over connections of the gateway alone. */
  readonly gatewayRpc: GatewayRpc;
  readonly blocks: NewBlocks;
  readonly port: Port;
}

/**
 * Builds the public HTTP interface. The life of a request, each step of which may refuse it:
 *
 * ```
 *  connection   limits/connections    closes a connection without an answer when there are too many
 *      │        socket/socket         takes over a WebSocket's handshake, which skips the steps below
 *      ▼
 *  head         Node's parser         bytes that are not HTTP get a 400 from errors.ts
 *      │        limits/requestTurns   waits for the response before it, and for the turn of its key or address
 *      │        port                  leads to the network of the path or the host
 *      │        requestHost           refuses HTTP/1.1 without Host, several Hosts, and hosts that are not allowed
 *      │        cors                  answers preflights; adds the fields that browsers look for
 *      │        base                  404 for an unknown path, 405 for a method that the path does not take
 *      │        authenticator         finds the API key: one hook for all routes that need one (401; 429 if
 *      │                              the address has shown too many unknown keys)
 *      │        routes/<route>        refuses by other header fields, before any of the body is read
 *      ▼
 *  body         body/jsonBody         reads and parses JSON, counted against limits/bodyMemoryBudget
 *      ▼
 *  handler      routes/<route>, gateway
 *      │                              validates the request (400), takes tokens from limits/rateLimiter for transactions
 *      │                              or from limits/readLimiter for reads (429), calls intake, checker, store or policy
 *      ▼
 *  response     body/sendChunks       streams NDJSON lines at the client's pace; other answers leave in one piece
 * ```
 *
 * A step refuses by throwing a `ProtocolError`. The error handler in errors.ts turns it, and any failure of the
 * framework, into the one shape of errors (D21).
 */
export function createApp(dependencies: AppDependencies): Required<NetworkApp> {
  const { tokenStore, options, log, metrics, keys: directory, configuredKeys, failures, port } = dependencies;
  const { maxBodyBytes, maxHeldBytes, gatewayAnswerBytes } = options;
  const bodyMemory = new BodyMemoryBudget(maxHeldBytes, maxBodyBytes, gatewayAnswerBytes);
  const clientAddress = createClientAddress(options);
  const authenticator = createAuthenticator({ configuredKeys, directory, clientAddress, failures });
  const { connections, loop, server } = port;
  const partyOf = (request: IncomingMessage) => {
    const party = partyOfRequest(request, { authenticator, clientAddress, failures });
    if (party.grant) connections.keep(request.socket, party.grant);
    return party;
  };
  const app = createBaseApp({
    log,
    metrics,
    allowedHosts: options.allowedHosts,
    maxBodyBytes,
    bodyMemory,
    loop,
    routes: PUBLIC_ROUTES,
    leaving: dependencies.leaving,
  });
  registerCors(app, options, () => directory.origins);
  const rateLimiter = createRateLimiter({ tokenStore, log });
  app.addHook("onClose", () => rateLimiter.close());
  const readLimiter = createReadLimiter({ options, metrics, loop });
  const parts = {
    ...dependencies,
    ...{ authenticator, clientAddress, rateLimiter, readLimiter, loop, bodyMemory, connections, server },
  };
  const gateway = buildGateway(parts);
  const sockets = acceptSockets(app, { ...parts, ...gateway });
  registerRoutes(app, { ...parts, sockets });
  serveGateway(app, { ...parts, ...gateway, sockets });
  return { app, partyOf, isUpgrade: isSocketRequest };
}
