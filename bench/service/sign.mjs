// Signs the load: one approval of the test token for each user, at gas price 0. An approval needs no balance, so each
// user can be a new key. The file has one transaction a line, as hex.
//
//   node sign.mjs <file> <transactions>

import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { useNativeCrypto } from "../../packages/crypto-native/dist/index.js";
import { DEVNET_CHAIN_ID, TEST_TOKEN } from "../../packages/devnet/dist/presets/index.js";
import { bytesToHex, hexToBytes, signTransaction } from "../../packages/protocol/dist/index.js";
import { userKey } from "./shape.mjs";

await useNativeCrypto();
const [file, count] = process.argv.slice(2);
// approve(address,uint256)
const data = hexToBytes(`0x095ea7b3${"11".repeat(20).padStart(64, "0")}${"1".padStart(64, "0")}`);
const call = { to: TEST_TOKEN, value: 0n, data };
const out = createWriteStream(file);
for (let i = 0; i < Number(count); i++) {
  const tx = {
    type: "legacy",
    chainId: DEVNET_CHAIN_ID,
    nonce: 0n,
    gasPrice: 0n,
    gasLimit: 100_000n,
    ...call,
  };
  if (!out.write(`${bytesToHex(signTransaction(tx, userKey(i)).raw)}\n`)) await once(out, "drain");
}
out.end();
await once(out, "finish");
console.log("{}");
