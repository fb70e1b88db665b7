import { setTimeout as sleep } from "node:timers/promises";
import type { NodeFault } from "../nodeZoo/nodeFault.js";
import type { Troubles } from "./trouble.js";
import type { World } from "./world.js";

const BLOCKS_BEHIND = 50;
const behind: NodeFault = { viewFor: ({ head }) => ({ head: Math.max(0, head - BLOCKS_BEHIND) }) };
const otherChain: NodeFault = {
  change: ({ method }, reply) =>
    method === "eth_chainId" || method === "net_version" ? { result: "0x1" } : reply,
};

/** Gives these nodes a fault. */
const spoil = (places: readonly (0 | 1)[], fault: NodeFault) => ({
  begin: ({ nodes }: World) => {
    for (const place of places) nodes[place].zoo.fault = fault;
  },
  end: ({ nodes }: World) => {
    for (const place of places) nodes[place].zoo.fault = {};
  },
});

const cut = (places: readonly (0 | 1)[]) => ({
  begin: ({ nodes }: World) => Promise.all(places.map((place) => nodes[place].path.cut("refuse"))),
  end: ({ nodes }: World) => Promise.all(places.map((place) => nodes[place].path.heal())),
});

async function untilBlocks({ chain }: World): Promise<void> {
  while ((await chain.head()) < BLOCKS_BEHIND + 5) await sleep(500);
}

const NODE = ["GasWaiverNodeUnusable", "GasWaiverNodeBehind"];

/** Troubles of nodes and the chain. */
export const NODE_TROUBLES = {
  nodeDown: {
    text: "one node down",
    signal: /a node went away|gas_waiver_node_usable\{[^}]*\} 0/,
    alarms: ["GasWaiverNodeUnusable"],
    remedy: "mend the node",
    ...cut([0]),
  },
  nodesDown: {
    text: "both nodes down",
    signal: /a node went away|node_usable\{[^}]*\} 0|the node cannot be used/,
    alarms: ["GasWaiverNodeUnusable", "GasWaiverHeadOld"],
    remedy: "mend the nodes",
    ...cut([0, 1]),
  },
  nodeBehind: {
    text: "one node 50 blocks behind",
    signal: /a node is behind|node_usable\{[^}]*\} 0/,
    alarms: NODE,
    remedy: "let it catch up",
    prepare: untilBlocks,
    ...spoil([0], behind),
  },
  nodesBehind: {
    text: "both nodes 50 blocks behind",
    signal: /a node is behind|node_usable\{[^}]*\} 0|node_head_age_seconds\{[^}]*\} \d{2,}|are behind/,
    alarms: [...NODE, "GasWaiverHeadOld"],
    remedy: "let them catch up",
    prepare: untilBlocks,
    ...spoil([0, 1], behind),
  },
  otherChain: {
    text: "one node on another chain",
    signal: /is on another chain|node_usable\{[^}]*\} 0/,
    alarms: ["GasWaiverNodeUnusable"],
    remedy: "mend the node",
    ...spoil([0], otherChain),
  },
  chainHalted: {
    text: "the chain halts",
    signal: /node_head_age_seconds\{[^}]*\} \d{2,}|no new block/,
    alarms: ["GasWaiverHeadOld"],
    remedy: "nothing: it goes on with the next block",
    begin: ({ chain }) => chain.call("devnet_stopMining"),
    end: ({ chain }) => chain.call("devnet_resumeMining"),
  },
} satisfies Troubles;
