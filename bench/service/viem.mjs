// A sample relay on viem, without a database: its nonce manager and a wallet client.
//
//   node viem.mjs <the node's address>
import { randomUUID } from "node:crypto";
import { createWalletClient, http, keccak256, parseTransaction, recoverTransactionAddress } from "viem";
import { nonceManager, privateKeyToAccount } from "viem/accounts";
import { TEST_TOKEN_ADDRESS } from "../../packages/devnet/dist/presets/index.js";
import { serveRelay } from "./relay.mjs";
import { CHAIN_ID, MARKER, WAIVER, WRAPPER_GAS } from "./shape.mjs";

const chain = {
  id: CHAIN_ID,
  name: "benchmark",
  nativeCurrency: { name: "gas", symbol: "GAS", decimals: 18 },
  rpcUrls: { default: { http: [process.argv[2]] } },
};
const account = privateKeyToAccount(WAIVER.privateKey, { nonceManager });
const client = createWalletClient({ account, chain, transport: http(process.argv[2]) });
const target = TEST_TOKEN_ADDRESS.toLowerCase();

await serveRelay(async (raw) => {
  const inner = parseTransaction(raw);
  if (inner.chainId !== CHAIN_ID) throw new Error("wrong chain");
  if ((inner.gasPrice ?? 0n) !== 0n) throw new Error("the gas price is not 0");
  if (inner.to?.toLowerCase() !== target || !inner.data?.startsWith("0x095ea7b3"))
    throw new Error("not allowed");
  const sender = await recoverTransactionAddress({ serializedTransaction: raw });
  if (!sender) throw new Error("no sender");
  const nonce = await nonceManager.consume({ address: account.address, chainId: CHAIN_ID, client });
  const serializedTransaction = await account.signTransaction({
    type: "legacy",
    chainId: CHAIN_ID,
    nonce,
    gasPrice: 0n,
    gas: inner.gas + WRAPPER_GAS,
    to: MARKER,
    value: 0n,
    data: raw,
  });
  await client.sendRawTransaction({ serializedTransaction });
  return { id: randomUUID(), hash: keccak256(raw) };
});
