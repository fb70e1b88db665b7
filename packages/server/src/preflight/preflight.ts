import { MAX_LAG_SECONDS } from "../chain/rpc/endpointHeads.js";
import { NodeRpcError, RpcUnavailableError } from "../chain/rpc/rpc.js";
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

/** The statuses by which providers refuse an account, its key or its quota. */
const REFUSAL_STATUSES: readonly number[] = [401, 402, 403, 429];
const METHOD_NOT_FOUND = -32_601;
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
  /** Undefined if the node gives no usable answer, or is on another chain. */
  readonly state: NodeState | undefined;
  readonly findings: readonly NodeFinding[];
}

async function checkNode(node: ProbedNode, options: PreflightOptions): Promise<CheckedNode> {
  const named = (findings: readonly Finding[]) =>
    findings.map((finding) => ({ ...finding, node: node.name }));
  let state: NodeState | undefined;
  try {
    state = await readState(node);
    const first = [ok("answers" as const, "answers"), checkChain(state, options.chainId)];
    // Nothing else matters of a node of another chain, and no other node is compared with it.
    if (first.some(({ verdict }) => verdict === "refuses"))
      return { node, state: undefined, findings: named(first) };
    return { node, state, findings: named([...first, ...(await checkOne(node, state, options))]) };
  } catch (error) {
    return { node, state, findings: named([unreachable(error as Error)]) };
  }
}

async function checkOne(node: ProbedNode, state: NodeState, options: PreflightOptions): Promise<Finding[]> {
  const { reorgDepth, maxWrapperBytes } = options;
  const [batches, [lookups, history]] = await Promise.all([
    checkBatches(node, 2 * maxWrapperBytes + REQUEST_OVERHEAD),
    checkLookups(node, state.head).then(async ({ finding, found: known }) => {
      return [finding, await checkHistory(node, state.head, { reorgDepth, known })] as const;
    }),
  ]);
  const now = Date.now();
  return [
    checkSync(state, now),
    checkHead(state, now),
    checkClock(state, batches.date, now),
    batches.finding,
    lookups,
    history,
    checkFinality(state, reorgDepth),
  ];
}

function unreachable(error: Error): Finding {
  return refuses("answers", {
    found: error.message,
    means: "nothing else could be checked",
    remedy: isRefusal(error)
      ? "look at the account, its quota and its key with the node's provider"
      : "check the URL, and that the node serves JSON-RPC over HTTP",
    mayPass: true,
  });
}

/** Tells an endpoint that is there and does not work for this caller from one that is away or serves something else. */
function isRefusal(error: Error): boolean {
  if (error instanceof NodeRpcError) return error.code !== METHOD_NOT_FOUND;
  return error instanceof RpcUnavailableError && REFUSAL_STATUSES.includes(error.status ?? 0);
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
