// Measures the parts of the engine's time. Prints microseconds per transaction as JSON.
//
//   node breakdown.mjs <wrapped|plain> <transactions>
//
// Recovering, executing and sealing are timed in the engine. Decoding and the policy are short and synchronous, so they
// are timed in a second run on their own. The rest is the pool, the other rules and the ledger.
import { BlockDraft } from "../../packages/devnet/dist/block/block.js";
import { Execution } from "../../packages/devnet/dist/evm/executor.js";
import { createDevnet } from "../../packages/devnet/dist/index.js";
import { policyVerdict, policyVersion } from "../../packages/devnet/dist/registry/policy.js";
import { WorldState } from "../../packages/devnet/dist/state/world.js";
import {
  crypto,
  decodeInnerTx,
  decodeTransaction,
  hexToBytes,
  recoverSender,
} from "../../packages/protocol/dist/index.js";
import { LOADS } from "./load.mjs";
import { BLOCK } from "./shape.mjs";

const [kind, count] = process.argv.slice(2);
const raws = LOADS[kind](0, Number(count));
const ms = { recover: 0, execute: 0, seal: 0 };

timed(crypto, "recover", "recover");
timed(BlockDraft.prototype, "prepare", "seal");
timed(BlockDraft.prototype, "seal", "seal");
// Applying the changes includes the state root.
const world = timed(WorldState.prototype, "apply", "seal");
timed(Execution.prototype, "transaction", "execute");

const devnet = await createDevnet({ blockTimeMs: 0, automine: false });
// Warm up, or compiling would count towards whichever part runs first.
const warm = Math.min(BLOCK * 4, raws.length / 2);
for (let i = 0; i < warm; i += BLOCK) await block(raws.slice(i, Math.min(i + BLOCK, warm)));
for (const name of Object.keys(ms)) ms[name] = 0;
const start = performance.now();
for (let i = warm; i < raws.length; i += BLOCK) await block(raws.slice(i, i + BLOCK));
const total = performance.now() - start;
await devnet.close();

const measured = raws.slice(warm);
const parts = { decode: timeOf(decode), recover: ms.recover };
if (kind === "wrapped") parts.policy = timeOf(policy(measured));
Object.assign(parts, { execute: ms.execute, seal: ms.seal });
const known = Object.values(parts).reduce((sum, part) => sum + part, 0);
const perTransaction = (part) => (part * 1000) / measured.length;
console.log(
  JSON.stringify({
    kind,
    transactions: measured.length,
    total: perTransaction(total),
    ...Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, perTransaction(part)])),
    rest: perTransaction(total - known),
  }),
);

async function block(transactions) {
  for (const raw of transactions) await devnet.request({ method: "eth_sendRawTransaction", params: [raw] });
  await devnet.mine();
}

/** Adds the time of a method to a part. @returns an object whose `latest` is the last `this` of the method. */
function timed(owner, method, part) {
  const run = owner[method];
  const calls = {};
  owner[method] = function (...args) {
    calls.latest = this;
    const start = performance.now();
    const note = () => {
      ms[part] += performance.now() - start;
    };
    const result = run.apply(this, args);
    if (result instanceof Promise) return result.finally(note);
    note();
    return result;
  };
  return calls;
}

function timeOf(run) {
  const start = performance.now();
  for (const raw of raws.slice(warm)) run(raw);
  return performance.now() - start;
}

/** Decodes hex to bytes, and those strictly as the protocol does. */
function decode(raw) {
  const bytes = hexToBytes(raw);
  if (kind === "wrapped") {
    decodeInnerTx(decodeTransaction(bytes).data);
  } else {
    decodeTransaction(bytes);
  }
}

/** Reads the policy twice for each transaction, as on admission and as for a block: once for each of the load's two waivers. */
function policy(wrappers) {
  const waivers = new Map(
    wrappers.slice(0, 2).map((raw, i) => [i, recoverSender(decodeTransaction(hexToBytes(raw)))]),
  );
  const { to, data } = decodeInnerTx(decodeTransaction(hexToBytes(wrappers[0])).data);
  return () => {
    for (let i = 0; i < 2; i++) {
      policyVersion(world.latest, waivers.get(i));
      policyVerdict(world.latest, waivers.get(i), to, data);
    }
  };
}
