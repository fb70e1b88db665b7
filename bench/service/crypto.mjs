// The ceiling: transactions a second of one core that does nothing but their native cryptography. Prints JSON.
//
//   node crypto.mjs <seconds>
import { useNativeCrypto } from "../../packages/crypto-native/dist/index.js";
import { crypto } from "../../packages/protocol/dist/index.js";
import { userKey, waiverKey } from "./shape.mjs";

await useNativeCrypto();

const seconds = Number(process.argv[2]);
const USERS = 1_000;
// Lengths in bytes as in the load: both transactions, each unsigned and signed.
const [innerUnsigned, innerRaw, wrapperUnsigned, wrapperRaw] = [110, 175, 215, 280].map((n) =>
  new Uint8Array(n).fill(7),
);
const signatures = Array.from({ length: USERS }, (_, i) => {
  innerUnsigned[0] = i % 256;
  innerUnsigned[1] = i >> 8;
  return crypto.sign(crypto.keccak256(innerUnsigned), userKey(i));
});
const key = waiverKey();

const STEPS = {
  recover(i) {
    innerUnsigned[0] = i % 256;
    innerUnsigned[1] = i >> 8;
    return crypto.recover(crypto.keccak256(innerUnsigned), signatures[i]);
  },
  address: (_, publicKey) => crypto.keccak256(publicKey),
  innerHash: () => crypto.keccak256(innerRaw),
  sign: () => crypto.sign(crypto.keccak256(wrapperUnsigned), key),
  wrapperHash: () => crypto.keccak256(wrapperRaw),
};
run(0.5);
const { ms, transactions } = run(seconds);
const publicKey = STEPS.recover(0);
const microseconds = Object.fromEntries(
  Object.entries(STEPS).map(([name, step]) => [name, timeOf(step, publicKey)]),
);
console.log(JSON.stringify({ backend: crypto.name, perSecond: (transactions / ms) * 1_000, microseconds }));

function run(limit) {
  const start = performance.now();
  let transactions = 0;
  while (performance.now() - start < limit * 1_000) {
    const publicKey = STEPS.recover(transactions % USERS);
    for (const name of ["address", "innerHash", "sign", "wrapperHash"]) STEPS[name](0, publicKey);
    transactions++;
  }
  return { ms: performance.now() - start, transactions };
}

function timeOf(step, publicKey) {
  const start = performance.now();
  for (let i = 0; i < USERS; i++) step(i, publicKey);
  return ((performance.now() - start) * 1_000) / USERS;
}
