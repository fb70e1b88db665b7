import type { CheckLine, Simulation } from "@gas-waiver/client";
import {
  type AllowedTarget,
  anyPolicy,
  assertInnerTx,
  bytesToHex,
  callFailureOf,
  compilePolicy,
  DEFAULT_MAX_DATA_LENGTH,
  DEFAULT_MAX_GAS_LIMIT,
  errorBodyOf,
  type InnerTxRules,
  type Policy,
  ProtocolError,
  parseInnerTx,
  type ValidInnerTx,
} from "@gas-waiver/protocol";
import { checkSender } from "@gas-waiver/server";
import { Registry } from "../governance/registry.js";
import { JsonRpcClient, JsonRpcError } from "../jsonRpcClient.js";

export interface LocalCheckOptions {
  /** Undefined without a node: then nonces, balances and the registry are left out. */
  readonly rpcUrl: string | undefined;
  /** That of the node by default. */
  readonly chainId: bigint | undefined;
  /** By default the registry's targets of any waiver, or any target where there is no node. */
  readonly allowedTargets: readonly AllowedTarget[] | undefined;
  readonly simulate: boolean;
  readonly signal: AbortSignal;
}

type Outcome = { readonly valid: ValidInnerTx } | { readonly error: ProtocolError };

/**
 * Checks transactions without a service: the rules of D3, and with a node the sender's nonce and balance as a service does
 * (D7, D20). A service knows more: its API key's scope, its caps, and what is in flight.
 * @param raw signed transactions as 0x hex.
 */
export async function checkLocally(raw: readonly string[], options: LocalCheckOptions): Promise<CheckLine[]> {
  const node = options.rpcUrl === undefined ? undefined : new JsonRpcClient(options.rpcUrl, options.signal);
  const rules = await rulesOf(options, node);
  const outcomes = raw.map((text) => validate(text, rules));
  const refusals = node ? await refusalsByAccount(outcomes, node) : new Map<number, ProtocolError>();
  return Promise.all(
    outcomes.map(async (outcome, index): Promise<CheckLine> => {
      if ("error" in outcome) return refusedLine(index, outcome.error);
      const refusal = refusals.get(index);
      if (refusal) return refusedLine(index, refusal);
      const simulation = node && options.simulate ? await simulate(outcome.valid, node) : undefined;
      const txHash = bytesToHex(outcome.valid.hash);
      return { index, success: true, txHash, ...(simulation && { simulation }) };
    }),
  );
}

function refusedLine(index: number, error: ProtocolError): CheckLine {
  // The rules and an account give no other codes than a line may have.
  return { index, success: false, error: errorBodyOf(error) } as CheckLine;
}

async function rulesOf(
  { chainId, allowedTargets }: LocalCheckOptions,
  node: JsonRpcClient | undefined,
): Promise<InnerTxRules> {
  return {
    chainId: chainId ?? (await (node as JsonRpcClient).quantity("eth_chainId")),
    maxGasLimit: DEFAULT_MAX_GAS_LIMIT,
    maxDataLength: DEFAULT_MAX_DATA_LENGTH,
    ...(await policyOf(allowedTargets, node)),
  };
}

async function policyOf(
  targets: readonly AllowedTarget[] | undefined,
  node: JsonRpcClient | undefined,
): Promise<{ policy: Policy; policyName: string }> {
  if (targets) return { policy: compilePolicy(targets), policyName: "--allowed-targets" };
  if (!node) return { policy: compilePolicy([{ address: "*" }]), policyName: "no policy" };
  const waivers = await new Registry(node).waivers();
  const policies = waivers.map((waiver) => compilePolicy(waiver.targets));
  return { policy: anyPolicy(policies), policyName: "the policy of any registered waiver" };
}

function validate(text: string, rules: InnerTxRules): Outcome {
  try {
    return { valid: assertInnerTx(parseInnerTx(text), rules) };
  } catch (error) {
    if (error instanceof ProtocolError) return { error };
    throw error;
  }
}

/** The transactions that the accounts of their senders refuse, by their positions. */
async function refusalsByAccount(
  outcomes: readonly Outcome[],
  node: JsonRpcClient,
): Promise<Map<number, ProtocolError>> {
  const bySender = new Map<string, { index: number; valid: ValidInnerTx }[]>();
  for (const [index, outcome] of outcomes.entries()) {
    if (!("valid" in outcome)) continue;
    const sender = bytesToHex(outcome.valid.sender);
    bySender.set(sender, [...(bySender.get(sender) ?? []), { index, valid: outcome.valid }]);
  }
  const refused = new Map<number, ProtocolError>();
  for (const [address, transactions] of bySender) {
    const nonce = await node.quantity("eth_getTransactionCount", [address, "latest"]);
    const balance = await node.quantity("eth_getBalance", [address, "latest"]);
    const [first] = transactions;
    if (first === undefined) continue;
    const verdict = checkSender(
      transactions.map(({ index, valid: { tx, hash } }) => {
        return { index, innerHash: hash, nonce: tx.nonce, value: tx.value };
      }),
      { sender: first.valid.sender, nonce, balance, work: [] },
    );
    for (const [index, error] of verdict.refused) refused.set(index, error);
  }
  return refused;
}

async function simulate({ tx, sender, to }: ValidInnerTx, node: JsonRpcClient): Promise<Simulation> {
  const quantity = (value: bigint) => `0x${value.toString(16)}`;
  const call = {
    ...{ from: bytesToHex(sender), to: bytesToHex(to), data: bytesToHex(tx.data) },
    ...{ value: quantity(tx.value), gas: quantity(tx.gasLimit), gasPrice: "0x0" },
  };
  try {
    await node.request("eth_call", [call, "latest"]);
    return { success: true };
  } catch (error) {
    if (!(error instanceof JsonRpcError)) throw error;
    const failure = callFailureOf({ message: error.message, data: error.revert });
    const kind = failure === undefined || failure.kind === "out_of_gas" ? "halted" : failure.kind;
    const message = failure?.message ?? error.message;
    return { success: false, kind, message, ...(error.revert !== undefined && { data: error.revert }) };
  }
}
