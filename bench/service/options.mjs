import { readArguments } from "../../scripts/readArguments.mjs";

export const CONTESTANTS = [
  "node",
  "bare",
  "service",
  "websocket",
  "gateway",
  "created",
  "finished",
  "viem",
  "ethers",
];
export const NODES = ["accepting", "devnet"];

export const USAGE = `Usage: npm run bench -- [--json FILE] [--rounds N] [--seconds N]
                     [--contestants LIST] [--nodes LIST] [--finished N]
       npm run bench -- --of PART [--help]

Measures the service and two sample relays on the same machine and node, with the same
load of transactions signed beforehand: transactions a second at saturation, in requests
of 1, 10 and 100; the latency of a transaction's result line at fixed offered rates, from
the moment the request was due; memory; processor time by stage. It begins with the
ceiling: transactions a second of one core that does only their cryptography. The service
runs without rate and queue limits; its store is an embedded PostgreSQL with fsync. With
the defaults it takes about 25 minutes.

  --json FILE         write every figure to this file as well   (default: none)
  --rounds N          rounds, from 1 to 20; the report has medians (default: 3)
  --seconds N         duration of each phase, from 1 to 60      (default: 4)
  --contestants LIST  some of: node      the load straight to the node, for comparison
                               bare      a server that stores a row and calls the node
                                         once for a request, and checks and signs nothing
                               service   the service with an empty store
                               websocket the same, the load over 8 WebSockets
                               gateway   the same by eth_sendRawTransaction of its gateway;
                                         also its sends and reads, one at a time, beside
                                         POST /v1/submit and the node's own reads
                               created   the same under an API key that an operator
                                         has created, whose senders have caps
                               finished  the service with finished submissions in it
                               viem      Fastify and viem with its nonce manager
                               ethers    Fastify and ethers with its nonce manager
                      (default: all)
  --nodes LIST        accepting: a node that accepts everything;
                      devnet: the devnet, for service, gateway, viem and ethers
                              alone
                      (default: both)
  --finished N        finished submissions in the store of "finished"
                      (default: 2000000)
  --of PART           measure another part, which has options of its own:
                      rate              latencies at a fixed rate, the causes of the
                                        slowest, and whether they stay flat
                      open-transaction  the cost of a transaction that stays open
                      crypto            the backends of the cryptography
                      devnet            the devnet beside anvil
  --help              show this text

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
