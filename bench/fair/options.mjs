import { readArguments } from "../../scripts/readArguments.mjs";

export const USAGE = `Usage: npm run bench:fair -- [--seed N] [--minutes N] [--attackers N] [--seconds N]
       [--again N] [--replay FILE [--at LIST]] [--checkout FOLDER] [--json FILE]

Looks for the mixture of attackers that hurts an honest party most. Each attacker is drawn
by the seed from the grammar of the whole interface: method, size, rate, connections, keys,
addresses, encodings, gas, nonces, slow readers and writers, subscriptions, idempotency keys,
half-open sockets, ids, nested batches. The search climbs: a mixture that hurts more than the
worst so far is changed further. Honest parties are a client with a secret key that submits,
and wallets under the publishable key that the attackers share, 25 calls a second together:
so many wallets that each asks for half of its share, as the keys and addresses of the mixture
leave it, since the law promises nothing to who asks for more. The control of a mixture is the same mixture against a
target that only refuses, beside the same honest work, so that the machine's own loss is not
counted. The attackers have a machine's processor time that the others leave, in both. The
first attack only warms up. The worst mixtures are measured again, and printed.

The law: a median of at most twice the control's and 20 ms, a p99 of at most five times the
control's, no honest request refused, and memory below its bound. "Waited" is the share of the
time in which the service was ready and had no processor: where that is more than a fifth, other
programs on the machine make its latencies, and the verdict is theirs.

  --seed N          the seed of the draw                        (default: 1)
  --minutes N       duration of the search, from 1 to 600       (default: 10)
  --attackers N     attackers of a mixture, from 1 to 100       (default: 12)
  --seconds N       duration of each measurement, 1 to 60       (default: 4)
  --again N         the worst mixtures that are measured again  (default: 3)
  --replay FILE     measure the mixtures of an earlier --json FILE, and search for none
  --at LIST         only those at these places of its list, such as 1,3
  --checkout FOLDER attack the service of another checkout, which is built
  --json FILE       write every mixture to this file as well    (default: none)
  --help            show this text

Status: 0 no mixture breaks the law; 1 one does; 2 wrong usage.`;

export function readOptions(argv) {
  return readArguments(argv, {
    seed: { initial: "1", least: 0, most: 4_294_967_295 },
    minutes: { initial: "10", least: 1, most: 600 },
    attackers: { initial: "12", least: 1, most: 100 },
    seconds: { initial: "4", least: 1, most: 60 },
    again: { initial: "3", least: 0, most: 20 },
    checkout: { initial: "" },
    replay: { initial: "" },
    at: { initial: "" },
  });
}
