import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isObject } from "../../packages/server/src/chain/rpc/rpcOutcome.js";
import { type ChainView, callForView, replyForView } from "./chainView.js";
import {
  type Call,
  type Exchange,
  errorReply,
  type HttpReply,
  type Reply,
  readExchange,
  SEND,
  writeReplies,
} from "./exchange.js";
import type { NodeFault, NodeMoment } from "./nodeFault.js";
import type { Limits, Personality, Refusal } from "./personality.js";

const HEAD_INTERVAL_MS = 40;
const HEAD_TIMEOUT_MS = 1_000;

/** A stand-in for a node: it answers with the devnet's chain, in the words and within the limits of a personality. */
export class ZooNode implements NodeMoment {
  readonly #devnet: string;
  readonly #server: Server;
  readonly #seen = new Map<number, number>();
  readonly #sent = new Map<string, string>();
  readonly #struck: Record<string, number> = {};
  #personality: Personality;
  #fault: NodeFault = {};
  #head = 0;
  #closed = false;
  #following: Promise<void> = Promise.resolve();

  private constructor(devnet: string, personality: Personality) {
    this.#devnet = devnet;
    this.#personality = personality;
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  static async inFrontOf(devnet: string, personality: Personality): Promise<ZooNode> {
    const node = new ZooNode(devnet, personality);
    await new Promise<void>((resolve) => node.#server.listen(0, "127.0.0.1", resolve));
    node.#following = node.#follow();
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get head(): number {
    return this.#head;
  }

  /** The bytes of every transaction that the node received and accepted, by hash. */
  get sent(): ReadonlyMap<string, string> {
    return this.#sent;
  }

  /** The number of strikes by kind, since the start. */
  get struck(): Readonly<Record<string, number>> {
    return this.#struck;
  }

  set personality(personality: Personality) {
    this.#personality = personality;
  }

  /** The fault in force from now on; an empty one ends it. */
  set fault(fault: NodeFault) {
    this.#fault = fault;
  }

  seenAt(block: number): number | undefined {
    return this.#seen.get(block);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#following;
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #follow(): Promise<void> {
    while (!this.#closed) {
      const call = { id: 0, method: "eth_blockNumber", params: [] };
      // The devnet may have a fault of its own, and never answer.
      const [reply] = await this.#forward([call], AbortSignal.timeout(HEAD_TIMEOUT_MS)).catch(() => []);
      if (reply && "result" in reply) this.#noteHead(Number(reply.result));
      await new Promise((resolve) => setTimeout(resolve, HEAD_INTERVAL_MS));
    }
  }

  #noteHead(head: number): void {
    const now = performance.now();
    // After a reorg the blocks above the new head are seen anew.
    for (let number = head + 1; number <= this.#head; number++) this.#seen.delete(number);
    for (let number = this.#head + 1; number <= head; number++) this.#seen.set(number, now);
    this.#head = head;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const exchange = readExchange(Buffer.concat(chunks).toString());
      const delay = this.#fault.delayMs?.(exchange) ?? 0;
      if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
      await this.#answer(exchange, response);
    } catch {
      // The client has left, or the chain is away.
      response.destroy();
    }
  }

  async #answer(exchange: Exchange, response: ServerResponse): Promise<void> {
    const fault = this.#fault;
    const strike = fault.strikeExchange?.(exchange);
    if (strike) this.#count(`exchange ${strike.when}`);
    const refusal = strike?.when === "before" ? undefined : this.#refuse(exchange, this.#limits(fault));
    const reply = strike?.when === "before" ? undefined : (refusal ?? (await this.#make(exchange, fault)));
    const how = strike?.how ?? reply;
    if (how === "hang") return;
    if (how === "drop" || how === undefined) {
      response.destroy();
      return;
    }
    const { status, body, contentType = "text/html", headers = {} } = how;
    response.writeHead(status, { "content-type": contentType, ...headers }).end(body);
  }

  #limits(fault: NodeFault): Limits {
    return { ...this.#personality.limits, ...fault.limits };
  }

  #refuse(exchange: Exchange, { calls, requestBytes }: Limits): HttpReply | undefined {
    if (requestBytes !== undefined && exchange.bytes > requestBytes) {
      this.#count("too many bytes");
      return this.#personality.tooManyBytes(exchange, requestBytes);
    }
    if (calls === undefined || !exchange.isBatch || exchange.calls.length <= calls) return undefined;
    this.#count("too many calls");
    return this.#personality.tooManyCalls(exchange, calls);
  }

  /** Makes the calls in their order, and words the answers. */
  async #make(exchange: Exchange, fault: NodeFault): Promise<HttpReply> {
    const { responseBytes } = this.#limits(fault);
    if (!exchange.isBatch || fault.limits?.responseBytes === undefined || responseBytes === undefined)
      return writeReplies(exchange, await this.#makeCalls(exchange, 0, exchange.calls.length, fault));
    const made: Reply[] = [];
    let bytes = 0;
    for (let place = 0; place < exchange.calls.length; place++) {
      const [reply = {}] = await this.#makeCalls(exchange, place, place + 1, fault);
      made.push(reply);
      bytes += JSON.stringify(reply).length;
      if (bytes > responseBytes) {
        this.#count("response too large");
        return this.#personality.responseTooLarge(exchange, made, responseBytes);
      }
    }
    return writeReplies(exchange, made);
  }

  async #makeCalls(exchange: Exchange, from: number, to: number, fault: NodeFault): Promise<Reply[]> {
    const plans = exchange.calls.slice(from, to).map((call, i) => {
      const view: ChainView = fault.viewFor?.(this, from + i, exchange) ?? {};
      const strike = fault.strikeCall?.(call);
      if (strike) this.#count(`call ${strike.when}`);
      if (strike?.when === "before") return { call, view, ownReply: strike.reply };
      const forwarded = callForView(view, call);
      return isCall(forwarded) ? { call, view, forwarded, strike } : { call, view, ownReply: forwarded };
    });
    const made = await this.#forward(plans.flatMap(({ forwarded }) => forwarded ?? []));
    return plans.map(({ call, view, ownReply, strike }) => {
      if (ownReply !== undefined) return ownReply;
      const reply = made.shift() ?? errorReply(-32_603, "no answer");
      this.#recordSent(call, reply);
      if (strike) return strike.reply;
      const shown = this.#reword(call, replyForView(view, call, reply));
      return fault.change?.(call, shown) ?? shown;
    });
  }

  #recordSent({ method, params }: Call, reply: Reply): void {
    if (method === SEND && "result" in reply) this.#sent.set(String(reply.result), String(params[0]));
  }

  /** Replaces the devnet's words for a refusal of its pool, which name the reason in `data`. */
  #reword({ method }: Call, reply: Reply): Reply {
    if (method !== SEND || !("error" in reply) || !isObject(reply.error)) return reply;
    const { data } = reply.error;
    if (!isObject(data) || typeof data.reason !== "string") return reply;
    const { nonce = "", expected = "", hash = "" } = data as Record<string, string | undefined>;
    const word = this.#personality.words[data.reason as Refusal];
    return word === undefined ? reply : { error: word({ nonce, expected, hash }) };
  }

  /** Makes calls on the devnet, in their order. */
  async #forward(calls: readonly Call[], signal?: AbortSignal): Promise<Reply[]> {
    if (calls.length === 0) return [];
    const response = await fetch(this.#devnet, {
      ...(signal && { signal }),
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }))),
    });
    const answers = (await response.json()) as (Record<string, unknown> & { id: number })[];
    const byId = new Map(answers.map(({ id, result, error }) => [id, error ? { error } : { result }]));
    return calls.map((_, id) => byId.get(id) ?? errorReply(-32_603, "no answer"));
  }

  #count(name: string): void {
    this.#struck[name] = (this.#struck[name] ?? 0) + 1;
  }
}

function isCall(value: Call | Reply): value is Call {
  return "method" in value;
}
