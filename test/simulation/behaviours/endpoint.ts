import type { Hex } from "@gas-waiver/protocol";
import type { EvidenceLedger } from "../laws/evidenceLedger.js";
import type { SimulatedNode } from "../nodes/node.js";
import type { Reaction } from "../nodes/reaction.js";
import type { WorldClock } from "../worldClock.js";
import { type CallDeed, isCall, isTransport, type TransportDeed } from "./behaviour.js";
import { ask, change, type Reply, viewOf } from "./callDeeds.js";
import { concerns, concernsWrapper, type Directory, type ObservedCall } from "./matcher.js";
import { type Running, strikes } from "./running.js";
import { answer, type Request, reactionOf, readRequest, rearrange } from "./transportDeeds.js";

export interface EndpointOptions {
  readonly place: number;
  readonly node: SimulatedNode;
  /** The node to which a load balancer gives requests now and then. */
  readonly anotherNode: SimulatedNode;
  readonly clock: WorldClock;
  readonly directory: Directory;
  readonly ledger: EvidenceLedger;
  readonly behaviours: readonly Running[];
}

type Struck<D> = { readonly does: D; readonly running: Running };

/** A URL of the service's configuration: an honest node behind the behaviours that strike it. */
export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #transport: readonly Running[];
  readonly #calls: readonly Running[];
  readonly #forgetting: readonly Running[];

  constructor(options: EndpointOptions) {
    this.#options = options;
    const here = options.behaviours.filter(
      ({ behaviour: { subject } }) => subject.endpoint === undefined || subject.endpoint === options.place,
    );
    this.#transport = here.filter(({ behaviour: { does } }) => isTransport(does));
    this.#calls = here.filter(({ behaviour: { does } }) => isCall(does));
    this.#forgetting = here.filter(({ behaviour: { does } }) => does.deed === "forget");
  }

  /** @param isKept whether the request comes over a connection that has carried an earlier one. */
  request(body: string, isKept: boolean): Reaction {
    const request = readRequest(body, isKept);
    const { ledger, place } = this.#options;
    const reaction = this.#react(request);
    ledger.onExchange(place, request, reaction);
    return reaction;
  }

  #react(request: Request): Reaction {
    const now = this.#options.clock.now();
    const struck = this.#transport.filter(
      (running) => this.#fits(running, request) && strikes(running, now),
    ) as readonly Running[];
    const deeds = struck.map((running) => ({ running, does: running.behaviour.does as TransportDeed }));
    for (const { does } of deeds) {
      const before = reactionOf(does, "before", request);
      if (before !== undefined) return before;
    }
    const isGiven = deeds.some(({ does }) => does.deed === "another node");
    const node = isGiven ? this.#options.anotherNode : this.#options.node;
    const worked = deeds.some(({ does }) => does.deed === "twice")
      ? [this.#work(request, node), this.#work(request, node)]
      : [this.#work(request, node)];
    for (const { does } of deeds) {
      const after = reactionOf(does, "after", request);
      if (after !== undefined) return after;
    }
    return this.#write(request, worked.at(-1) ?? [], deeds);
  }

  #fits({ behaviour: { subject } }: Running, { calls }: Request): boolean {
    if (subject.moreThan !== undefined && calls.length <= subject.moreThan) return false;
    return calls.some((call) => concerns(subject, call, this.#options.directory));
  }

  #write(request: Request, replies: readonly Reply[], deeds: readonly Struck<TransportDeed>[]): Reaction {
    let identified = replies.map((reply, i) => ({ jsonrpc: "2.0", id: request.calls[i]?.id, ...reply }));
    if (request.isList)
      for (const { does, running } of deeds)
        identified = rearrange(identified, does, running.random) as typeof identified;
    const body = JSON.stringify(request.isList ? identified : identified[0]);
    const cut = deeds.find(({ does }) => does.deed === "cut")?.does;
    const delayMs = deeds.reduce((sum, { does }) => sum + (does.deed === "slow" ? does.ms : 0), 0);
    const kept = cut?.deed === "cut" ? body.slice(0, Math.floor(body.length * cut.share)) : body;
    return { ...answer(200, kept), isCut: cut !== undefined, delayMs };
  }

  #work({ calls }: Request, node: SimulatedNode): Reply[] {
    return calls.map((call) => this.#call(call, node));
  }

  #call(call: ObservedCall, node: SimulatedNode): Reply {
    const { clock, directory } = this.#options;
    const now = clock.now();
    const fitting = this.#calls.filter(({ behaviour: { subject } }) => concerns(subject, call, directory));
    const known = fitting.filter(({ behaviour: { subject } }) => subject.unknown !== true);
    const deeds = known.filter((running) => strikes(running, now)).map(deedOf);
    const before = deeds.find((does) => "when" in does && does.when === "before");
    if (before !== undefined) return change({ result: null }, before);
    let reply = this.#forgets(call, now) ?? ask(node, call.method, call.params, viewOf(node, deeds));
    for (const does of deeds) reply = change(reply, does);
    if (!("result" in reply) || reply.result !== null) return reply;
    const unknown = fitting.filter((running) => running.behaviour.subject.unknown === true);
    return unknown
      .filter((running) => strikes(running, now))
      .map(deedOf)
      .reduce(change, reply);
  }

  /** The answer of a node that takes a wrapper and has forgotten it at once. */
  #forgets({ method, params }: ObservedCall, now: number): { readonly result: Hex } | undefined {
    const { directory, ledger } = this.#options;
    if (method !== "eth_sendRawTransaction" || this.#forgetting.length === 0) return undefined;
    const wrapper = directory.read(params[0]);
    if (wrapper === undefined) return undefined;
    const isForgotten = this.#forgetting.some(
      (running) => concernsWrapper(running.behaviour.subject, wrapper, directory) && strikes(running, now),
    );
    if (!isForgotten) return undefined;
    ledger.onTaken(wrapper);
    return { result: wrapper.hash };
  }
}

function deedOf({ behaviour }: Running): CallDeed {
  return behaviour.does as CallDeed;
}
