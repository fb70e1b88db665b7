// Measures the backends of the cryptography in turns, in processor time. Prints JSON: µs by backend and step.
//
//   node measure.mjs <rounds>
import { loadNativeCrypto, loadWasmCrypto } from "../../packages/crypto-native/dist/index.js";
import { javascriptCrypto } from "../../packages/protocol/dist/index.js";
import { median } from "../median.mjs";
import { userKey } from "../service/shape.mjs";

/** Different inputs, so that no cache makes a step faster than it is. */
const INPUTS = 256;
/** The length in bytes of a hashed transaction, as in the load of the service's benchmark. */
const TRANSACTION_BYTES = 175;
const SLICE_US = 60_000;
const BETWEEN_CLOCK_READS = 8;

const rounds = Number(process.argv[2]);
const backends = [await loadNativeCrypto(), await loadWasmCrypto(), javascriptCrypto].filter(Boolean);
const inputs = Array.from({ length: INPUTS }, (_, i) => {
  const data = new Uint8Array(TRANSACTION_BYTES).fill(7);
  data[0] = i;
  const hash = javascriptCrypto.keccak256(data);
  const key = userKey(i);
  return { data, hash, key, signature: javascriptCrypto.sign(hash, key) };
});
const STEPS = {
  recover: (backend, { hash, signature }) => backend.recover(hash, signature),
  sign: (backend, { hash, key }) => backend.sign(hash, key),
  keccak256: (backend, { data }) => backend.keccak256(data),
};

const runs = backends.map(() => Object.fromEntries(Object.keys(STEPS).map((name) => [name, []])));
for (let round = 0; round < rounds; round++) {
  for (const [i, backend] of backends.entries()) {
    for (const [name, step] of Object.entries(STEPS)) runs[i][name].push(microsecondsOf(step, backend));
  }
}
const medians = backends.map(({ name }, i) => [
  name,
  Object.fromEntries(Object.entries(runs[i]).map(([step, all]) => [step, median(all)])),
]);
console.log(JSON.stringify(Object.fromEntries(medians)));

/** Processor time, which other programs on the machine disturb less than wall time. */
function microsecondsOf(step, backend) {
  const start = process.cpuUsage();
  let count = 0;
  let used = 0;
  while (used < SLICE_US) {
    for (let i = 0; i < BETWEEN_CLOCK_READS; i++) step(backend, inputs[count++ % INPUTS]);
    const { user, system } = process.cpuUsage(start);
    used = user + system;
  }
  return used / count;
}
