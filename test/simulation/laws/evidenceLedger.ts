import type { Hex } from "@gas-waiver/protocol";
import { isObject } from "../../../packages/server/src/chain/rpc/rpcOutcome.js";
import type { Request } from "../behaviours/transportDeeds.js";
import type { CallError } from "../chain/reads.js";
import type { Wrapper } from "../chain/wrapper.js";
import type { Reaction } from "../nodes/reaction.js";
import type { WorldClock } from "../worldClock.js";

/** A refusal that reached the service: a well-formed error to one send, with the call's own id. */
export interface Refusal {
  readonly hash: Hex;
  readonly at: number;
  readonly error: CallError;
}

/** Remembers by the InnerTx all that nodes received, had and answered. The laws judge the service by this. */
export class EvidenceLedger {
  readonly #clock: WorldClock;
  readonly #read: (raw: unknown) => Wrapper | undefined;
  readonly #deliveries = new Map<Hex, number>();
  readonly #sentAt = new Map<Hex, number>();
  readonly #wrappers = new Map<Hex, Wrapper[]>();
  readonly #refusals = new Map<Hex, Refusal[]>();
  readonly #shownAt = new Map<Hex, number>();
  /** By account, the highest next nonce that each endpoint has told. */
  readonly #nonces = new Map<Hex, Map<number, bigint>>();

  constructor(clock: WorldClock, read: (raw: unknown) => Wrapper | undefined) {
    this.#clock = clock;
    this.#read = read;
  }

  /** The wrappers of an InnerTx that were ever sent, in order. */
  wrappersOf(innerHash: Hex): readonly Wrapper[] {
    return this.#wrappers.get(innerHash) ?? [];
  }

  refusalsOf(innerHash: Hex): readonly Refusal[] {
    return this.#refusals.get(innerHash) ?? [];
  }

  /** The requests that carried these bytes and had a connection. */
  deliveriesOf(wrapperHash: Hex): number {
    return this.#deliveries.get(wrapperHash) ?? 0;
  }

  /** The time of the first request with these bytes, in ms. */
  sentAt(wrapperHash: Hex): number | undefined {
    return this.#sentAt.get(wrapperHash);
  }

  /** The time since which a node had a wrapper of this InnerTx, or returned its hash; undefined if none ever did. */
  shownAt(innerHash: Hex): number | undefined {
    return this.#shownAt.get(innerHash);
  }

  /** Whether an endpoint has told a next nonce of the account, and each that did has told one above this. */
  isPast(account: Hex, nonce: number): boolean {
    const told = [...(this.#nonces.get(account)?.values() ?? [])];
    return told.length > 0 && told.every((next) => next > BigInt(nonce));
  }

  /** Notes that a node took a wrapper. */
  onTaken({ innerHash }: Wrapper): void {
    if (!this.#shownAt.has(innerHash)) this.#shownAt.set(innerHash, this.#clock.now());
  }

  onExchange(place: number, { calls, isList }: Request, reaction: Reaction): void {
    const answers = answersIn(reaction, isList);
    for (const { id, method, params } of calls)
      if (method === "eth_getTransactionCount")
        this.#onNonce(place, params[0] as Hex, answers.get(id)?.result);
    const sends = calls.flatMap(({ id, method, params }) => {
      const wrapper = method === "eth_sendRawTransaction" ? this.#read(params[0]) : undefined;
      return wrapper === undefined ? [] : [{ id, wrapper }];
    });
    for (const { wrapper } of sends) this.#onSend(wrapper, reaction.kind !== "no connection");
    for (const { id, wrapper } of sends) this.#onAnswer(wrapper, answers.get(id));
  }

  #onNonce(place: number, account: Hex, result: unknown): void {
    if (typeof result !== "string" || !/^0x[0-9a-f]{1,16}$/.test(result)) return;
    const told = this.#nonces.get(account) ?? new Map<number, bigint>();
    this.#nonces.set(account, told);
    const next = BigInt(result);
    if (next >= (told.get(place) ?? 0n)) told.set(place, next);
  }

  #onSend(wrapper: Wrapper, isDelivered: boolean): void {
    const { hash, innerHash } = wrapper;
    const wrappers = this.#wrappers.get(innerHash) ?? [];
    if (!wrappers.some((one) => one.hash === hash)) wrappers.push(wrapper);
    this.#wrappers.set(innerHash, wrappers);
    if (!isDelivered) return;
    this.#deliveries.set(hash, this.deliveriesOf(hash) + 1);
    if (!this.#sentAt.has(hash)) this.#sentAt.set(hash, this.#clock.now());
  }

  #onAnswer(wrapper: Wrapper, reply: Readonly<Record<string, unknown>> | undefined): void {
    const { hash, innerHash } = wrapper;
    if (reply?.result === hash) this.onTaken(wrapper);
    if (reply === undefined || !isObject(reply.error)) return;
    const refusals = this.#refusals.get(innerHash) ?? [];
    const error = reply.error as unknown as CallError;
    refusals.push({ hash, at: this.#clock.now(), error });
    this.#refusals.set(innerHash, refusals);
  }
}

/** The answers of a well-formed response, by the calls' ids. */
function answersIn(reaction: Reaction, isList: boolean): Map<unknown, Readonly<Record<string, unknown>>> {
  if (reaction.kind !== "answer" || reaction.isCut || reaction.status !== 200) return new Map();
  try {
    const parsed: unknown = JSON.parse(reaction.body);
    const list = Array.isArray(parsed) ? parsed : isList ? [] : [parsed];
    return new Map(list.filter(isObject).map((one) => [one.id, one]));
  } catch {
    return new Map();
  }
}
