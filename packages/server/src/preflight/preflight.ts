import { MAX_LAG_SECONDS } from "../chain/rpc/endpointHeads.js";
import { checkBatches } from "./checkBatches.js";
import { checkHistory } from "./checkHistory.js";
import { checkLookups } from "./checkLookups.js";
import {
  checkChain,
  checkClock,
  checkFinality,
  checkHead,
  checkSync,
  type NodeState,
  readState,
} from "./checkState.js";
import { checkPrice, checkRegistration } from "./checkWaivers.js";
import { compareNodes, type ReadNode } from "./compareNodes.js";
import { type Finding, NODE_CHECKS, type NodeFinding, ok, refuses } from "./finding.js";
import { createProbedNode, type ProbedNode } from "./probedNode.js";

export interface PreflightOptions {
  /** In the order of preference. */
  readonly rpcUrls: readonly string[];
  /** The chain that the service is for; undefined if any will do. */
  readonly chainId: number | undefined;
  readonly reorgDepth: number;
  /** The waivers' addresses, 20 bytes each; their registration is read unless `readsRegistry` is false. */
  readonly waivers: readonly Uint8Array[];
  readonly readsRegistry: boolean;
  /** The largest wrapper that the service sends, in bytes. */
  readonly maxWrapperBytes: number;
  readonly rpcTimeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The bytes of a request that sends a wrapper, beside the hex digits. */
const REQUEST_OVERHEAD = 120;

/**
 * Checks what the service needs of its nodes, by reads alone. All nodes are checked at once.
 * @returns the findings in the order of the nodes and of {@link NODE_CHECKS}; those about all nodes come last.
 * @throws TypeError if one of the URLs is not a URL. Whatever a node does becomes a finding.
 */
export async function checkNodes(options: PreflightOptions): Promise<NodeFinding[]> {
  const ending = new AbortController();
  const abort = () => ending.abort();
  options.signal?.addEventListener("abort", abort);
  if (options.signal?.aborted) abort();
  const access = { rpcTimeoutMs: options.rpcTimeoutMs, signal: ending.signal };
  try {
    const nodes = options.rpcUrls.map((url, place) => createProbedNode(url, place, access));
    const checked = await Promise.all(nodes.map((node) => checkNode(node, options)));
    const read = checked.flatMap(({ node, state }): ReadNode[] => (state ? [{ node, state }] : []));
    const compared = await compareNodes(read, { ...options, maxLagSeconds: MAX_LAG_SECONDS }).catch(() => []);
    const findings = [...checked.flatMap(({ findings: own }) => own), ...compared];
    const all = findings.concat(await checkAll(read, options));
    return inOrder(softened(all), nodes);
  } finally {
    options.signal?.removeEventListener("abort", abort);
    abort();
  }
}

interface CheckedNode {
  readonly node: ProbedNode;
  /** Undefined if the node gives no usable answer. */
  readonly state: NodeState | undefined;
  readonly findings: readonly NodeFinding[];
}

async function checkNode(node: ProbedNode, options: PreflightOptions): Promise<CheckedNode> {
  const named = (findings: readonly Finding[]) =>
    findings.map((finding) => ({ ...finding, node: node.name }));
  let state: NodeState | undefined;
  try {
    state = await readState(node);
    return {
      node,
      state,
      findings: named([ok("answers", "answers"), ...(await checkOne(node, state, options))]),
    };
  } catch (error) {
    return { node, state, findings: named([unreachable((error as Error).message)]) };
  }
}

async function checkOne(node: ProbedNode, state: NodeState, options: PreflightOptions): Promise<Finding[]> {
  const { chainId, reorgDepth, maxWrapperBytes } = options;
  const chain = checkChain(state, chainId);
  // Nothing else matters of a node of another chain.
  if (chain.verdict === "refuses") return [chain];
  const [batches, [lookups, history]] = await Promise.all([
    checkBatches(node, 2 * maxWrapperBytes + REQUEST_OVERHEAD),
    checkLookups(node, state.head).then(async ({ finding, found: known }) => {
      return [finding, await checkHistory(node, state.head, { reorgDepth, known })] as const;
    }),
  ]);
  const now = Date.now();
  return [
    chain,
    checkSync(state, now),
    checkHead(state, now),
    checkClock(state, batches.date, now),
    batches.finding,
    lookups,
    history,
    checkFinality(state, reorgDepth),
  ];
}

function unreachable(message: string): Finding {
  return refuses("answers", {
    found: message,
    means: "nothing else could be checked",
    remedy: "check the URL, and that the node serves JSON-RPC over HTTP",
    mayPass: true,
  });
}

/** The checks that one node answers for all: the first that is not syncing. */
async function checkAll(read: readonly ReadNode[], options: PreflightOptions): Promise<NodeFinding[]> {
  const { waivers, readsRegistry } = options;
  const { node } = read.find(({ state }) => !state.isSyncing) ?? read[0] ?? {};
  if (node === undefined || waivers.length === 0) return [];
  const [registration, price] = await Promise.all([
    readsRegistry ? checkRegistration(node, waivers) : [],
    checkPrice(node, waivers).catch(() => undefined),
  ]);
  return [...registration, ...(price ? [price] : [])].map((finding) => ({ ...finding, node: "all" }));
}

/** Turns refusals that may pass by themselves into warnings while another node has none. */
function softened(findings: readonly NodeFinding[]): NodeFinding[] {
  const troubled = new Set(
    findings.filter(({ verdict, mayPass }) => verdict === "refuses" && mayPass).map(({ node }) => node),
  );
  const nodes = new Set(findings.map(({ node }) => node).filter((node) => node !== "all"));
  if (troubled.size === nodes.size) return [...findings];
  return findings.map((finding) =>
    finding.verdict === "refuses" && finding.mayPass ? { ...finding, verdict: "warning" } : finding,
  );
}

function inOrder(findings: readonly NodeFinding[], nodes: readonly ProbedNode[]): NodeFinding[] {
  const names = [...nodes.map(({ name }) => name), "all"];
  const rank = ({ node, check }: NodeFinding) =>
    names.indexOf(node) * NODE_CHECKS.length + NODE_CHECKS.indexOf(check);
  return [...findings].sort((a, b) => rank(a) - rank(b));
}
