import { readArguments } from "../arguments.mjs";

export const CONTESTANTS = ["node", "service", "finished", "viem", "ethers"];
export const NODES = ["accepting", "devnet"];

export const USAGE = `Usage: npm run bench -- [--json FILE] [--rounds N] [--seconds N]
                     [--contestants LIST] [--nodes LIST] [--finished N]

Measures the service beside relays as samples have them, on the same machine and
node, with the same load of transactions that are signed before: transactions a second
at saturation, in requests of 1, 10 and 100; the time to a transaction's line at fixed
offered rates, from the moment it was due; memory; processor time by stage. Before
that, what the native cryptography alone allows on one core. The service's rate and
queue limits are set out of the way; its store is an embedded PostgreSQL with fsync.
With the defaults it takes about 20 minutes.

  --json FILE         write every figure there as well
  --rounds N          how often each is run, from 1 to 20; medians count (default: 3)
  --seconds N         of each phase, from 1 to 60                       (default: 4)
  --contestants LIST  some of: node      the load straight to the node, as a measure
                               service   with an empty store
                               finished  the service with finished submissions in it
                               viem      Fastify and viem with its nonce manager
                               ethers    the same with ethers
                      (default: all)
  --nodes LIST        accepting: a node that accepts everything;
                      devnet: the devnet, with service, viem and ethers alone
                      (default: both)
  --finished N        how many submissions "finished" has     (default: 2000000)
  --help              this text

Status: 0 done, 1 something failed, 2 wrong usage.`;

export function readOptions(argv) {
  return readArguments(argv, {
    rounds: { initial: "3", least: 1, most: 20 },
    seconds: { initial: "4", least: 1, most: 60 },
    finished: { initial: "2000000", least: 1, most: 20_000_000 },
    contestants: { initial: CONTESTANTS.join(","), among: CONTESTANTS },
    nodes: { initial: NODES.join(","), among: NODES },
  });
}
