import {
  type AnySubmissionRecord,
  type CheckLine,
  RequestRefusedError,
  type SubmissionRecord,
  type WaiverClient,
  WaiverClientError,
} from "@gas-waiver/client";
import { compilePolicy, hexToBytes, parseAllowedTargets } from "@gas-waiver/protocol";
import type { DecodedTransaction } from "./decodedTransaction.js";

export interface ServiceFacts {
  readonly url: string;
  /** Why the service told nothing, or not everything. */
  readonly trouble?: string;
  readonly record?: AnySubmissionRecord;
  /** The submissions of the same sender that are not finished, lowest nonce first. */
  readonly unfinished?: readonly Pick<SubmissionRecord, "id" | "nonce" | "state">[];
  readonly policy?: PolicyVerdict;
  /** The dry run of the signed bytes, with a simulation. */
  readonly check?: CheckLine;
}

/** The answer of the key's policy to the call. */
export interface PolicyVerdict {
  readonly verdict: "allowed" | "target not allowed" | "selector not allowed";
  /** The methods that may be called on this target; absent if any may. */
  readonly allowedSelectors?: readonly string[];
  /** The waivers that may carry the call. */
  readonly waivers: readonly string[];
}

/** Asks the service for all that concerns the transaction. Nothing is submitted. */
export class ServiceReader {
  readonly #url: string;
  readonly #client: WaiverClient;
  readonly #options: { readonly signal: AbortSignal };
  #trouble: string | undefined;

  constructor(url: string, client: WaiverClient, signal: AbortSignal) {
    this.#url = url;
    this.#client = client;
    this.#options = { signal };
  }

  /** Returns the record of the submission with this id or hash, or of the refused line with this id, if this key has one. */
  async record(name: string): Promise<AnySubmissionRecord | undefined> {
    return await this.#attempt(() => this.#client.status(name, this.#options));
  }

  /** @param raw the signed bytes, for a dry run; undefined if they are not known, or are submitted already. */
  async facts(
    record: AnySubmissionRecord | undefined,
    transaction: DecodedTransaction | undefined,
    raw: string | undefined,
  ): Promise<ServiceFacts> {
    const policy = transaction && (await this.#policy(transaction));
    const sender = transaction?.from ?? record?.sender;
    const unfinished = sender && (await this.#unfinished(sender));
    const check = raw === undefined ? undefined : await this.#check(raw);
    return {
      url: this.#url,
      ...(this.#trouble !== undefined && { trouble: this.#trouble }),
      ...(record && { record }),
      ...(unfinished && { unfinished }),
      ...(policy && { policy }),
      ...(check && { check }),
    };
  }

  async #unfinished(sender: string) {
    const states = ["queued", "signed", "broadcast"] as const;
    const page = await this.#attempt(() =>
      this.#client.listPage({ sender, states, pageSize: 50, ...this.#options }),
    );
    const records = [...(page?.submissions ?? [])].sort((a, b) => Number(BigInt(a.nonce) - BigInt(b.nonce)));
    return page && records.map(({ id, nonce, state }) => ({ id, nonce, state }));
  }

  async #policy({ to, data }: DecodedTransaction): Promise<PolicyVerdict | undefined> {
    const policy = await this.#attempt(() => this.#client.policy(this.#options));
    if (policy === undefined || to === undefined) return undefined;
    const target = hexToBytes(to);
    const calldata = hexToBytes(data);
    const compiled = compilePolicy(parseAllowedTargets(policy.allowedTargets));
    const allowedSelectors = compiled.selectorsFor(target);
    const carriers = policy.waivers.filter(
      ({ allowedTargets }) =>
        compilePolicy(parseAllowedTargets(allowedTargets)).check(target, calldata) === "allowed",
    );
    return {
      verdict: compiled.check(target, calldata),
      ...(allowedSelectors && { allowedSelectors }),
      waivers: carriers.map(({ address }) => address),
    };
  }

  async #check(raw: string): Promise<CheckLine | undefined> {
    const lines = await this.#attempt(() => this.#client.check([raw], { simulate: true, ...this.#options }));
    return lines?.[0];
  }

  /** The answer; undefined where the service gives none. The first trouble is kept. */
  async #attempt<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof WaiverClientError)) throw error;
      const isUnknown = error instanceof RequestRefusedError && error.reason === "NO_SUCH_SUBMISSION";
      if (!isUnknown) this.#trouble ??= error.message;
      return undefined;
    }
  }
}
