import {
  type AnySubmissionRecord,
  type CheckLine,
  RequestRefusedError,
  type SubmissionRecord,
  type WaiverClient,
  WaiverClientError,
} from "@gas-waiver/client";
import { compilePolicy, hexToBytes, parseAllowedTargets, type Verdict } from "@gas-waiver/protocol";
import type { DecodedTransaction } from "./decodedTransaction.js";

export interface ServiceFacts {
  readonly url: string;
  /** Why the service told nothing, or not everything. */
  readonly trouble: string | undefined;
  readonly record: AnySubmissionRecord | undefined;
  /** The submissions of the same sender that are not finished, lowest nonce first. */
  readonly unfinished: readonly Pick<SubmissionRecord, "id" | "nonce" | "state">[] | undefined;
  /** The answer of the key's policy to the call. */
  readonly policy:
    | {
        readonly verdict: Verdict;
        /** The methods that may be called on this target; undefined if any may. */
        readonly allowedSelectors: readonly string[] | undefined;
        /** The waivers that may carry the call. */
        readonly waivers: readonly string[];
      }
    | undefined;
  /** The dry run of the signed bytes, with a simulation. */
  readonly check: CheckLine | undefined;
}

/** Asks the service for all that concerns the transaction. Nothing is submitted. */
export class ServiceReader {
  readonly #client: WaiverClient;
  readonly #options: { readonly signal: AbortSignal };
  #trouble: string | undefined;

  constructor(client: WaiverClient, signal: AbortSignal) {
    this.#client = client;
    this.#options = { signal };
  }

  /** Returns the record of the submission with this id or hash, or of the refused line with this id, if this key has one. */
  record(name: string): Promise<AnySubmissionRecord | undefined> {
    return this.#attempt(() => this.#client.status(name, this.#options));
  }

  /** @param raw the signed bytes, for a dry run; undefined if they are not known, or are submitted already. */
  async facts(
    record: AnySubmissionRecord | undefined,
    transaction: DecodedTransaction | undefined,
    raw: string | undefined,
  ): Promise<Omit<ServiceFacts, "url">> {
    const policy = transaction && (await this.#policy(transaction));
    const sender = transaction?.from ?? record?.sender;
    const unfinished = sender ? await this.#unfinished(sender) : undefined;
    const lines =
      raw === undefined
        ? undefined
        : await this.#attempt(() => this.#client.check([raw], { simulate: true, ...this.#options }));
    return { trouble: this.#trouble, record, unfinished, policy, check: lines?.[0] };
  }

  async #unfinished(sender: string): Promise<ServiceFacts["unfinished"]> {
    const states = ["queued", "signed", "broadcast"] as const;
    const page = await this.#attempt(() =>
      this.#client.listPage({ sender, states, pageSize: 50, ...this.#options }),
    );
    return page?.submissions
      .map(({ id, nonce, state }) => ({ id, nonce, state }))
      .sort((a, b) => Number(BigInt(a.nonce) - BigInt(b.nonce)));
  }

  async #policy({ to, data }: DecodedTransaction): Promise<ServiceFacts["policy"]> {
    const policy = await this.#attempt(() => this.#client.policy(this.#options));
    if (policy === undefined || to === undefined) return undefined;
    const [target, calldata] = [hexToBytes(to), hexToBytes(data)];
    const policyOf = (targets: typeof policy.allowedTargets) =>
      compilePolicy(
        // A chain may hold an entry with an empty list of selectors all the same. It permits nothing (D4).
        parseAllowedTargets(targets.filter(({ selectors }) => selectors?.length !== 0)),
      );
    const own = policyOf(policy.allowedTargets);
    return {
      verdict: own.check(target, calldata),
      allowedSelectors: own.selectorsFor(target),
      waivers: policy.waivers
        .filter(({ allowedTargets }) => policyOf(allowedTargets).check(target, calldata) === "allowed")
        .map(({ address }) => address),
    };
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
