import type { Logger } from "../../model/telemetry/log.js";
import { sleepUnless } from "../../util/wakeableTimer.js";
import { NodeClient } from "../client/nodeClient.js";
import type { EndpointHeads, EndpointState } from "../rpc/endpointHeads.js";
import type { RequestPaces } from "../rpc/requestPace.js";
import { createRpc } from "../rpc/rpc.js";

/** The interval between two polls of a node, in ms. */
const POLL_MS = 1_000;
/** The node's chain is looked at with each of so many polls: behind one address another node may answer at any time. */
const POLLS_PER_CONFIRMATION = 5;

export interface EndpointWatchOptions {
  readonly rpcUrls: readonly string[];
  readonly rpcTimeoutMs: number;
  /** Whether a node is on the chain that the service serves. Rejects if it gives no answer. */
  readonly isServedBy: (client: NodeClient) => Promise<boolean>;
  readonly heads: EndpointHeads;
  readonly paces?: RequestPaces;
  readonly log: Logger;
  readonly pollMs?: number;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

/** Polls the head of each node, and the chain of a node that was away. @returns a promise of the end of the watch. */
export async function watchEndpoints(options: EndpointWatchOptions): Promise<void> {
  await Promise.all(options.rpcUrls.map((url, place) => watchEndpoint(url, place, options)));
}

async function watchEndpoint(url: string, place: number, options: EndpointWatchOptions): Promise<void> {
  const { heads, log, rpcTimeoutMs, signal, paces, pollMs = POLL_MS } = options;
  // Without the heads, by which a node that is behind or on another chain would not be asked here either.
  const client = new NodeClient(createRpc({ rpcUrls: [url], rpcTimeoutMs, signal, ...(paces && { paces }) }));
  const node = nodeName(url, place);
  let isConfirmed = false;
  let before: EndpointState = "unknown";
  for (let polls = 0; !signal.aborted; polls++) {
    let err: string | undefined;
    try {
      if (!isConfirmed) isConfirmed = await options.isServedBy(client);
      // No answer to this alone is none about the chain: the head says whether the node answers.
      else if (polls % POLLS_PER_CONFIRMATION === 0)
        isConfirmed = await options.isServedBy(client).catch(() => true);
      const startedAt = performance.now();
      const head = isConfirmed ? await client.head() : undefined;
      const now = performance.now();
      if (head) heads.observe(place, head, now, now - startedAt);
      else heads.refuse(place);
      for (const other of await findApart(place, client, heads))
        log.error({ node, other: nodeName(options.rpcUrls[other] ?? url, other) }, APART);
    } catch (error) {
      err = (error as Error).message;
      // Behind one address there may be another node when it answers again.
      isConfirmed = false;
      heads.miss(place, err);
    }
    const state = heads.stateOf(place);
    if (state !== before && !signal.aborted)
      report(log, { node, state, lagSeconds: heads.lagOf(place), err });
    before = state;
    await sleepUnless(pollMs, signal);
  }
}

const APART =
  "two nodes have different blocks at one height, so one of them is wrong: neither is behind the other for its height alone";

/** Looks whether a node has the heads of those that its own height shows as behind. @returns those that it is now known not to have. */
async function findApart(place: number, client: NodeClient, heads: EndpointHeads): Promise<number[]> {
  const doubted = heads.doubted(place);
  // No answer to this alone is none about the node.
  const hashes =
    doubted.length === 0 ? [] : await client.blockHashes(doubted.map(({ number }) => number)).catch(() => []);
  return doubted.flatMap(({ place: other, number }, i) => {
    const hash = hashes[i];
    if (hash === undefined || hash === "unclear") return [];
    return heads.compare(place, other, number, hash) ? [other] : [];
  });
}

function report(
  log: Logger,
  change: {
    readonly node: string;
    readonly state: EndpointState;
    readonly lagSeconds: number | undefined;
    /** Why it gave no answer. */
    readonly err: string | undefined;
  },
): void {
  if (change.state === "other chain") log.error(change, "a node is on another chain: it is not asked");
  else if (change.state === "behind")
    log.warn(change, "a node is behind: it is not asked until it has caught up");
  else if (change.err !== undefined) log.warn(change, "a node went away");
  else log.info(change, "a node's state has changed");
}

/** Names a node by its place and origin: a URL may hold a secret in its path or query. */
export function nodeName(url: string, place: number): string {
  return `${place + 1} ${new URL(url).origin}`;
}
