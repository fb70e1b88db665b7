import { assertFewValues, CLOSE_CODES, errorBodyOf, ProtocolError } from "@gas-waiver/protocol";
import type { BlockFeed } from "../../gateway/blockFeed.js";
import type { Gateway } from "../../gateway/gateway.js";
import { encodeRefusal, RPC_CODES, RpcRefusal } from "../../gateway/jsonRpc.js";
import { createSubscriptions, type Subscriptions } from "../../gateway/subscriptions.js";
import { refusalFor } from "../../gateway/words.js";
import type { ResolvedOptions } from "../../model/options.js";
import { type AcceptedSocket, type ConnectionDependencies, SocketConnection } from "../socket/connection.js";

export interface GatewayConnectionDependencies extends ConnectionDependencies {
  readonly gateway: Gateway;
  readonly blockFeed: BlockFeed;
  readonly options: Pick<ResolvedOptions, "maxBodyBytes" | "maxSocketRequests">;
}

/** A client that leaves this many bytes of notifications unread is disconnected. */
const MAX_UNREAD_NOTIFICATIONS = 4_194_304;

/** A WebSocket that speaks JSON-RPC: the same answers as `POST /rpc/<key>`, and subscriptions. */
export class GatewayConnection extends SocketConnection {
  readonly #dependencies: GatewayConnectionDependencies;
  readonly #subscriptions: Subscriptions;
  #inFlight = 0;

  constructor(accepted: AcceptedSocket, dependencies: GatewayConnectionDependencies) {
    super(accepted, dependencies);
    this.#dependencies = dependencies;
    this.#subscriptions = createSubscriptions(dependencies.blockFeed, (text) => this.#notify(text));
  }

  protected override endStreams(): void {
    this.#subscriptions.end();
  }

  protected override async respond(data: Buffer, isBinary: boolean, onStored: () => void): Promise<void> {
    this.#inFlight++;
    try {
      const answer = await this.#answer(data, isBinary);
      if (answer !== undefined && this.isOpen) await this.send(answer).catch(() => {});
    } finally {
      this.#inFlight--;
      onStored();
    }
  }

  async #answer(data: Buffer, isBinary: boolean): Promise<string | undefined> {
    const { gateway, options } = this.#dependencies;
    try {
      if (this.#inFlight > options.maxSocketRequests) {
        throw new RpcRefusal(
          RPC_CODES.limitExceeded,
          "this connection has as many calls in flight as it may",
        );
      }
      return await gateway.answer(messageOf(data, isBinary), this.caller, this.#subscriptions);
    } catch (error) {
      const refusal = error instanceof ProtocolError ? refusalFor(errorBodyOf(error)) : error;
      if (!(refusal instanceof RpcRefusal)) throw refusal;
      this.chargeRefusal();
      return encodeRefusal(null, refusal);
    }
  }

  #notify(text: string): void {
    if (!this.isOpen) return;
    if (this.unreadBytes > MAX_UNREAD_NOTIFICATIONS) {
      this.#subscriptions.end();
      this.close(CLOSE_CODES.tryAgainLater, "the client does not read its notifications");
      return;
    }
    void this.send(text).catch(() => {});
  }
}

/** @throws {@link RpcRefusal} "parse error". */
function messageOf(data: Buffer, isBinary: boolean): unknown {
  if (isBinary) throw new RpcRefusal(RPC_CODES.parseError, "parse error: the frame is binary");
  const text = data.toString();
  assertFewValues(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new RpcRefusal(RPC_CODES.parseError, "parse error: the frame is not JSON");
  }
}
