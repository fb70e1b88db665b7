import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { MAX_BATCH_CALLS } from "../../src/chain/rpc/rpc.js";
import { hasMethod } from "./chainProfile.js";
import { ModelChain, type PoolKind, RefusedByNode } from "./modelChain.js";
import { NewHeadsServer } from "./newHeadsServer.js";

/** One HTTP request as it arrived: a batch of one or more calls. */
export interface Arrival {
  readonly methods: readonly string[];
  /** The signed transaction of each `eth_sendRawTransaction` in it. */
  readonly raws: readonly Hex[];
}

export interface NodeError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A reaction of the node to one HTTP request instead of a good answer. */
export type Misbehaviour =
  /** Answers with this status and body, and carries out no call. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly body: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Breaks the connection, before or after it has carried out the calls. */
  | { readonly kind: "reset"; readonly carriedOut: boolean }
  /** Gives no answer. */
  | { readonly kind: "silence"; readonly carriedOut: boolean }
  /** Answers that it has accepted the sent transactions, and forgets them. */
  | { readonly kind: "forget" }
  /** Carries out all calls, and answers only the first ones of the batch. */
  | { readonly kind: "partial"; readonly answered: number }
  /** Answers an error to the sends for which `of` returns one. */
  | { readonly kind: "error"; readonly of: (raw: Hex) => NodeError | undefined }
  /** Answers without an end. */
  | { readonly kind: "flood" }
  /** Answers so many bytes, and then no more. */
  | { readonly kind: "beginning"; readonly bytes: number }
  /** Answers as usual, once the promise has resolved. */
  | { readonly kind: "later"; readonly after: Promise<unknown> };

/** The most that the node, or a proxy before it, takes in one request. */
export interface RequestLimits {
  readonly calls: number;
  readonly bytes: number;
}

/** The answer of Erigon to a batch with too many calls, and of nginx to a body that is too large. */
function refusalBy(limits: RequestLimits, calls: number, bytes: number): Misbehaviour | undefined {
  if (bytes > limits.bytes) return { kind: "answer", status: 413, body: "413 Request Entity Too Large" };
  if (calls <= limits.calls) return undefined;
  const error = { code: -32_000, message: `batch limit ${limits.calls} exceeded` };
  return { kind: "answer", status: 200, body: JSON.stringify({ jsonrpc: "2.0", id: null, error }) };
}

export type Script = (arrival: Arrival) => Misbehaviour | undefined;

interface JsonRpcCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A chain node over real HTTP. Its chain is a model in memory, and a test scripts its answers. */
export class ScriptedNode {
  readonly chain: ModelChain;
  /** Every transaction that was sent to the node, in order, also those that it did not carry out. */
  readonly sent: Hex[] = [];
  /** Chooses the misbehaviour for each request; undefined for a normal answer. */
  script: Script | undefined;
  /** Answers for methods, by their names, instead of the chain's; `answer` gives the chain's own. It may throw a {@link RefusedByNode}. */
  readonly answers: Record<string, (params: readonly unknown[], answer: () => unknown) => unknown> = {};
  /** The difference of its HTTP `Date` from this machine's clock, in ms. */
  clockOffsetMs = 0;
  limits: RequestLimits = { calls: MAX_BATCH_CALLS, bytes: Number.POSITIVE_INFINITY };
  /** Counts the requests that arrived, and those that were refused for their size. */
  readonly requests = { all: 0, refused: 0 };
  /** Mines a block after each request that sent a transaction. */
  automine: boolean;
  readonly #events = new EventEmitter().setMaxListeners(0);
  #server: Server | undefined;
  #heads: NewHeadsServer | undefined;
  #port = 0;

  private constructor(chain: ModelChain, automine: boolean) {
    this.chain = chain;
    this.automine = automine;
  }

  /** Starts a node. With `chain`, it is another node of the same chain and pool. */
  static async start({
    pool = "strict" as PoolKind,
    automine = true,
    chain = new ModelChain(pool),
  } = {}): Promise<ScriptedNode> {
    const node = new ScriptedNode(chain, automine);
    await node.open();
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get wsUrl(): string {
    return `ws://127.0.0.1:${this.#port}`;
  }

  /** Its `newHeads` subscriptions over WebSocket. */
  get heads(): NewHeadsServer {
    if (this.#heads === undefined) throw new Error("the node is not open");
    return this.#heads;
  }

  /** Listens, after `close` on the same port as before. */
  async open(): Promise<void> {
    const server = createServer((request, response) => {
      this.#receive(request, response).catch(() => response.destroy());
    });
    this.#heads = new NewHeadsServer(server, () => this.#events.emit("change"));
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Stops listening, and closes all connections. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = once(server, "close");
    server.close();
    this.#heads?.disconnectAll();
    server.closeAllConnections();
    await closed;
  }

  /** Misbehaves for the next request that sends a transaction, and for no other. */
  once(misbehaviour: Misbehaviour): void {
    this.script = ({ raws }) => {
      if (raws.length === 0) return undefined;
      this.script = undefined;
      return misbehaviour;
    };
  }

  /** Misbehaves for every request that sends a transaction. */
  onSends(misbehaviour: Misbehaviour): void {
    this.script = ({ raws }) => (raws.length > 0 ? misbehaviour : undefined);
  }

  /**
   * Answers no send until `after`, nor the question for the height: by that one the service tells a node at work from one that is
   * away, and sends again what hangs at a node at work.
   */
  holdSends(after: Promise<void>): void {
    const later = { kind: "later", after } as const;
    const isHeld = ({ methods, raws }: Arrival) => raws.length > 0 || methods.includes("eth_blockNumber");
    const script = (arrival: Arrival) => (isHeld(arrival) ? later : undefined);
    this.script = script;
    void after.then(() => {
      if (this.script === script) this.script = undefined;
    });
  }

  /** Mines a block of the transactions in the pool, and announces it. */
  mine(): void {
    this.chain.mine();
    this.#heads?.announce(this.chain.height);
    this.#events.emit("change");
  }

  /** Resolves when the condition holds. It is checked at once, with every request and with every block. */
  async until(holds: (node: this) => boolean): Promise<void> {
    while (!holds(this)) await once(this.#events, "change");
  }

  /** Resolves when the next call of this method arrives. */
  async nextCall(method: string): Promise<void> {
    for (;;) {
      const [arrival] = (await once(this.#events, "arrival")) as [Arrival];
      if (arrival.methods.includes(method)) return;
    }
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const body: unknown = JSON.parse(bytes.toString());
    const calls = (Array.isArray(body) ? body : [body]) as JsonRpcCall[];
    const raws = calls.flatMap(({ method, params }) =>
      method === "eth_sendRawTransaction" ? [params[0] as Hex] : [],
    );
    const refusal = refusalBy(this.limits, calls.length, bytes.length);
    this.requests.all++;
    if (refusal) this.requests.refused++;
    this.sent.push(...raws);
    const arrival: Arrival = { methods: calls.map(({ method }) => method), raws };
    const misbehaviour = refusal ?? this.script?.(arrival);
    this.#events.emit("arrival", arrival);
    this.#events.emit("change");
    if (misbehaviour?.kind === "later") await misbehaviour.after;
    this.#answer(calls, Array.isArray(body), misbehaviour, response);
  }

  #answer(
    calls: readonly JsonRpcCall[],
    isBatch: boolean,
    misbehaviour: Misbehaviour | undefined,
    response: ServerResponse,
  ): void {
    if (misbehaviour?.kind === "answer") {
      const { status, body, headers } = misbehaviour;
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
      return;
    }
    if (misbehaviour?.kind === "flood") {
      flood(response);
      return;
    }
    if (misbehaviour?.kind === "beginning") {
      response.writeHead(200, { "content-type": "application/json" }).write(" ".repeat(misbehaviour.bytes));
      return;
    }
    const broken = misbehaviour?.kind === "reset" || misbehaviour?.kind === "silence";
    if (broken && !misbehaviour.carriedOut) {
      if (misbehaviour.kind === "reset") response.destroy();
      return;
    }
    const answers = calls.map((call) => ({ jsonrpc: "2.0", id: call.id, ...this.#run(call, misbehaviour) }));
    if (this.automine && calls.some(({ method }) => method === "eth_sendRawTransaction")) this.mine();
    if (broken) {
      if (misbehaviour.kind === "reset") response.destroy();
      return;
    }
    const sentAnswers = misbehaviour?.kind === "partial" ? answers.slice(0, misbehaviour.answered) : answers;
    response
      .writeHead(200, {
        "content-type": "application/json",
        date: new Date(Date.now() + this.clockOffsetMs).toUTCString(),
      })
      .end(JSON.stringify(isBatch ? sentAnswers : sentAnswers[0]));
    this.#events.emit("change");
  }

  #run({ method, params }: JsonRpcCall, misbehaviour: Misbehaviour | undefined): object {
    try {
      if (method === "eth_sendRawTransaction") {
        const raw = params[0] as Hex;
        const error = misbehaviour?.kind === "error" ? misbehaviour.of(raw) : undefined;
        if (error) return { error };
        return { result: bytesToHex(this.chain.addToPool(hexToBytes(raw), misbehaviour?.kind === "forget")) };
      }
      if (!hasMethod(method)) return { error: { code: -32_601, message: `${method} is not available` } };
      const read = () => this.chain.read(method, params);
      const answerOf = this.answers[method];
      return { result: answerOf ? answerOf(params, read) : read() };
    } catch (error) {
      if (!(error instanceof RefusedByNode)) throw error;
      return { error: { code: -32000, message: error.message, data: error.data } };
    }
  }
}

/** Writes until the connection is cut. */
function flood(response: ServerResponse): void {
  const part = Buffer.alloc(1_048_576, "x");
  const write = () => {
    while (!response.destroyed && response.write(part));
  };
  response.writeHead(200, { "content-type": "application/json" }).on("drain", write);
  response.on("error", () => {});
  write();
}
