import { EventEmitter } from "node:events";
import type { Agent, ClientRequest, RequestOptions } from "node:http";
import type { VirtualClock } from "./engine/clock.js";
import type { Journal } from "./engine/journal.js";
import { currentOwner, type Owner } from "./engine/owner.js";
import type { Random } from "./engine/random.js";

/** A request that has reached an endpoint. */
export interface EndpointRequest {
  /** The endpoint's host name. */
  readonly endpoint: string;
  readonly body: string;
  /** Whether it came over a connection that had carried others. */
  readonly isReusedConnection: boolean;
  /** The name of the replica that sent it. */
  readonly replica: string | undefined;
}

/** The fate of a request. An endpoint decides in `answer` whether it has worked on a request before it resets the connection. */
export type EndpointReply =
  | {
      readonly is: "answer";
      readonly status: number;
      readonly body: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly delayMs?: number;
    }
  /** The head and some bytes of the body come, and then the connection is reset. */
  | {
      readonly is: "cut";
      readonly status: number;
      readonly body: string;
      readonly bytes: number;
      readonly delayMs?: number;
    }
  /** Nobody listens: no connection was made, or the kept one is closed. */
  | { readonly is: "refused"; readonly code?: string }
  | { readonly is: "reset"; readonly delayMs?: number }
  /** Nothing ever comes. */
  | { readonly is: "hung" };

/** A node, a proxy or a provider, behind one host name. */
export interface SimulatedEndpoint {
  /** Called when a request has arrived, at the current virtual moment. */
  answer(request: EndpointRequest): EndpointReply;
}

/** The way that a packet takes, in virtual ms. */
const LEAST_TRIP_MS = 1;
const MOST_TRIP_MS = 4;

/** Makes the requests of `node:http` in memory. The service's own poster, its time limit and its repetition work on them. */
export class SimulatedNetwork {
  readonly endpoints = new Map<string, SimulatedEndpoint>();
  readonly #clock: VirtualClock;
  readonly #journal: Journal;
  readonly #random: Random;
  /** The connections that each agent keeps and does not use, by host name. */
  readonly #kept = new WeakMap<Agent, Map<string, number>>();
  requests = 0;

  constructor({ clock, journal, random }: { clock: VirtualClock; journal: Journal; random: Random }) {
    this.#clock = clock;
    this.#journal = journal;
    this.#random = random;
  }

  request(options: RequestOptions): ClientRequest {
    const request = new SimulatedRequest((body) => this.#send(request, options, body));
    request.reusedSocket = this.#takeKept(options);
    return request as unknown as ClientRequest;
  }

  #takeKept({ agent, hostname }: RequestOptions): boolean {
    if (typeof agent !== "object" || !hostname) return false;
    const kept = this.#kept.get(agent)?.get(hostname) ?? 0;
    if (kept === 0) return false;
    this.#keep(agent, hostname, kept - 1);
    return true;
  }

  #keep(agent: Agent, hostname: string, count: number): void {
    const hosts = this.#kept.get(agent) ?? new Map<string, number>();
    this.#kept.set(agent, hosts.set(hostname, count));
  }

  #send(request: SimulatedRequest, { agent, hostname }: RequestOptions, body: string): void {
    const owner = currentOwner();
    const endpoint = hostname ?? "";
    this.requests++;
    const onReply = (reply: EndpointReply) => {
      if (reply.is === "hung") return;
      const delayMs = this.#tripMs() + ("delayMs" in reply ? (reply.delayMs ?? 0) : 0);
      this.#clock.schedule(delayMs, () => deliver(reply), owner);
    };
    const deliver = (reply: Exclude<EndpointReply, { readonly is: "hung" }>) => {
      const isComplete = request.receive(reply);
      if (isComplete && typeof agent === "object" && (agent as { keepAlive?: boolean }).keepAlive)
        this.#keep(agent, endpoint, (this.#kept.get(agent)?.get(endpoint) ?? 0) + 1);
    };
    this.#clock.schedule(
      this.#tripMs(),
      () => onReply(this.#arrive(endpoint, request, owner, body)),
      undefined,
    );
  }

  #arrive(
    name: string,
    { reusedSocket }: SimulatedRequest,
    owner: Owner | undefined,
    body: string,
  ): EndpointReply {
    const endpoint = this.endpoints.get(name);
    const replica = owner?.name;
    const asked = { endpoint: name, body, isReusedConnection: reusedSocket, replica };
    const reply = endpoint?.answer(asked) ?? { is: "refused" };
    const { body: told = "", ...rest } = reply as { readonly body?: string };
    const at = this.#clock.now.toFixed(3);
    this.#journal.note(`${at} ${replica} to ${name} ${body} ${JSON.stringify(rest)} ${told}`);
    return reply;
  }

  #tripMs(): number {
    return this.#random.between(LEAST_TRIP_MS, MOST_TRIP_MS);
  }
}

/** The part of `http.ClientRequest` that a client which posts uses. */
class SimulatedRequest extends EventEmitter {
  reusedSocket = false;
  readonly #send: (body: string) => void;
  #isClosed = false;

  constructor(send: (body: string) => void) {
    super();
    this.#send = send;
  }

  end(body: string | Uint8Array = ""): this {
    this.#send(body.toString());
    return this;
  }

  destroy(error?: Error): this {
    process.nextTick(() => {
      if (!this.#isClosed && error !== undefined) this.emit("error", error);
      this.#close();
    });
    return this;
  }

  /** @returns whether the answer was complete, so that the connection can be kept. */
  receive(reply: Exclude<EndpointReply, { readonly is: "hung" }>): boolean {
    if (this.#isClosed) return false;
    if (reply.is === "refused" && !this.reusedSocket)
      this.#fail(`connect ${reply.code ?? "ECONNREFUSED"}`, reply.code ?? "ECONNREFUSED");
    else if (reply.is === "refused" || reply.is === "reset") this.#fail("read ECONNRESET", "ECONNRESET");
    else {
      const response = Object.assign(new EventEmitter(), {
        statusCode: reply.status,
        headers: "headers" in reply ? { ...reply.headers } : {},
      });
      this.emit("response", response);
      const body = Buffer.from(reply.body);
      response.emit("data", reply.is === "cut" ? body.subarray(0, reply.bytes) : body);
      if (reply.is === "answer") response.emit("end");
      else response.emit("error", Object.assign(new Error("aborted"), { code: "ECONNRESET" }));
    }
    this.#close();
    return reply.is === "answer";
  }

  #fail(message: string, code: string): void {
    this.emit("error", Object.assign(new Error(message), { code }));
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.emit("close");
  }
}
