import { StartError } from "../model/errors.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Logger } from "../model/telemetry/log.js";
import { sleepUnless } from "../util/wakeableTimer.js";
import type { NodeFinding } from "./finding.js";
import { checkNodes } from "./preflight.js";

/** A silent node must not hold up the start for long. The watch of the heads looks at its chain when it answers. */
const MAX_TIMEOUT_MS = 2_000;
const RETRY_MS = 1_000;

type StartOptions = Pick<
  ResolvedOptions,
  "rpcUrls" | "chainId" | "reorgDepth" | "waivers" | "maxWrapperBytes" | "rpcTimeoutMs" | "skipNodeCheck"
>;

/**
 * Checks the nodes at the start, and logs what is not as it should be. A node that does not answer passes: the service
 * works as soon as it does.
 * @throws {@link StartError} if a node would break what the service guarantees.
 */
export async function assertNodesUsable(
  options: StartOptions,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const findings = await findTroubles(options, signal);
  logTroubles(findings, log);
  const refusals = refusalsIn(findings);
  if (refusals.length === 0) return;
  const all = refusals.map(sentenceOf).join("; ");
  throw new StartError(`${all}. gas-waiver node check shows more; --skip-node-check starts all the same`);
}

/**
 * Checks the nodes of a service that started without them. Waits for what passes by itself, such as syncing.
 * @returns false if the nodes cannot be used, or when `signal` aborts.
 */
export async function confirmNodes(
  options: StartOptions,
  log: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  let known: ReadonlySet<string> = new Set();
  while (!signal.aborted) {
    const findings = await findTroubles(options, signal);
    const fresh = findings.filter((finding) => !known.has(stateOf(finding)));
    known = new Set(findings.map(stateOf));
    logTroubles(fresh, log);
    const refusals = refusalsIn(findings);
    if (refusals.length === 0) return true;
    const isFinal = refusals.some(({ mayPass }) => !mayPass);
    for (const refusal of isFinal ? refusals : refusalsIn(fresh)) {
      log[isFinal ? "fatal" : "warn"]({ err: sentenceOf(refusal) }, "no lane starts on these nodes");
    }
    if (isFinal) return false;
    await sleepUnless(RETRY_MS, signal);
  }
  return false;
}

/** Names what a check says of a node. Its words may differ in each round, such as by the height. */
function stateOf({ check, node, verdict }: NodeFinding): string {
  return `${check} ${node} ${verdict}`;
}

async function findTroubles(options: StartOptions, signal: AbortSignal): Promise<readonly NodeFinding[]> {
  if (options.skipNodeCheck) return [];
  const findings = await checkNodes({
    ...options,
    waivers: options.waivers.map(({ address }) => address),
    // The registry is read on its own at the start, and its waivers are watched.
    readsRegistry: false,
    rpcTimeoutMs: Math.min(options.rpcTimeoutMs, MAX_TIMEOUT_MS),
    signal,
  });
  return findings.filter(({ verdict }) => verdict !== "ok");
}

/** Logs what does not keep the lanes from starting. */
function logTroubles(findings: readonly NodeFinding[], log: Logger): void {
  for (const { check, node, verdict, found, means } of findings) {
    if (verdict === "warning") log.warn({ check, node, found, means }, "a node is not as it should be");
    if (verdict === "not proven")
      log.info({ check, node, found, means }, "a check of a node was not possible");
  }
}

function refusalsIn(findings: readonly NodeFinding[]): readonly NodeFinding[] {
  return findings.filter(({ verdict, check }) => verdict === "refuses" && check !== "answers");
}

function sentenceOf({ check, node, found, means, remedy }: NodeFinding): string {
  return `node ${node}, ${check}: ${found}: ${means}; ${remedy}`;
}
