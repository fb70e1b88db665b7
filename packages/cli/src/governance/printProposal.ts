import type { Context } from "../command.js";
import { JsonRpcClient } from "../jsonRpcClient.js";
import type { Values } from "../settings/setting.js";
import { proposalJson, proposalLines } from "./output.js";
import { Registry } from "./registry.js";
import type { CHAIN_SETTINGS } from "./settings.js";

/** Reads a proposal from the chain and prints it, as lines or as JSON. */
export async function printProposal(
  id: bigint,
  { rpcUrl, json }: Values<typeof CHAIN_SETTINGS>,
  { print, signal }: Context,
): Promise<void> {
  const proposal = await new Registry(new JsonRpcClient(rpcUrl, signal)).proposal(id);
  if (json) print(JSON.stringify(proposalJson(proposal)));
  else for (const line of proposalLines(proposal)) print(line);
}
