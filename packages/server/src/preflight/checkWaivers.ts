import { bytesToHex, MARKER_ADDRESS } from "@gas-waiver/protocol";
import { isUnanswered, nodeErrorIn } from "../chain/rpc/rpc.js";
import { createRegistry, RegistryUnreadableError } from "../policy/registry.js";
import { type Finding, notProven, ok, refuses, warning } from "./finding.js";
import type { ProbedNode } from "./probedNode.js";

/** Reads each waiver's registration and policy from the chain's registry, as the service reads them. */
export async function checkRegistration(
  { rpc }: ProbedNode,
  waivers: readonly Uint8Array[],
): Promise<Finding[]> {
  try {
    const { targets } = await createRegistry(rpc).read(waivers);
    return waivers.map((waiver, i) => registrationOf(bytesToHex(waiver), targets[i]?.length));
  } catch (error) {
    const found = (error as Error).message;
    if (error instanceof RegistryUnreadableError) {
      return [
        refuses("waivers", {
          found,
          means: "the service would wait for the policies for ever",
          remedy: "give --allowed-targets with --policy-source config, or use a node that runs eth_call",
        }),
      ];
    }
    return [
      notProven("waivers", {
        found,
        means: "whether the waivers are registered could not be read",
        remedy: "check the node again",
        mayPass: true,
      }),
    ];
  }
}

function registrationOf(waiver: string, targets: number | undefined): Finding {
  if (targets === undefined) {
    return warning("waivers", {
      found: `${waiver} is not registered`,
      means: "the chain refuses its wrappers, and its lane takes no work",
      remedy: "have it registered: gas-waiver governance propose",
      mayPass: true,
    });
  }
  if (targets > 0) return ok("waivers", `${waiver} is registered with ${targets} target(s)`);
  return warning("waivers", {
    found: `${waiver} is registered, and its policy has no targets`,
    means: "the waiver may carry nothing",
    remedy: "have its policy updated: gas-waiver governance propose",
    mayPass: true,
  });
}

/** The words of nodes for a price that is too low, also for a call. */
const PRICE = /gas ?price|fee cap|max ?fee|base ?fee|underpriced|insufficient fee|minimum.*fee/i;

/** Asks whether a call to the marker at price 0 is refused for its price. A call sends nothing, so it proves no more. */
export async function checkPrice(
  { rpc }: ProbedNode,
  waivers: readonly Uint8Array[],
): Promise<Finding | undefined> {
  const [waiver] = waivers;
  if (waiver === undefined) return undefined;
  const request = { from: bytesToHex(waiver), to: bytesToHex(MARKER_ADDRESS), gasPrice: "0x0", value: "0x0" };
  const outcomes = await rpc.read([
    { method: "eth_call", params: [request, "latest"] },
    { method: "eth_estimateGas", params: [request] },
  ]);
  const refusal = outcomes.map(nodeErrorIn).find((error) => error !== undefined && PRICE.test(error.message));
  if (refusal !== undefined) {
    return warning("price 0", {
      found: `a call to the marker at price 0 is refused: ${refusal.message}`,
      means: "the node may refuse wrappers for their price",
      remedy:
        "ask the chain's operators for a node that takes gas-waived transactions; its minimum price must be 0",
    });
  }
  if (outcomes.some((outcome) => !isUnanswered(outcome) && "result" in outcome)) {
    return ok("price 0", "a call to the marker at price 0 is not refused for its price");
  }
  return notProven("price 0", {
    found: "the node runs no call to the marker",
    means: "whether it takes price 0 shows with the first wrapper",
  });
}
