// A sample relay on ethers, without a database: its nonce manager and a wallet.
//
//   node ethers.mjs <the node's address>
import { randomUUID } from "node:crypto";
import { JsonRpcProvider, Network, NonceManager, Transaction, Wallet } from "ethers";
import { TEST_TOKEN_ADDRESS } from "../../packages/devnet/dist/presets/index.js";
import { serveRelay } from "./relay.mjs";
import { CHAIN_ID, MARKER, WAIVER, WRAPPER_GAS } from "./shape.mjs";

const network = Network.from(CHAIN_ID);
const provider = new JsonRpcProvider(process.argv[2], network, { staticNetwork: network });
const wallet = new Wallet(WAIVER.privateKey, provider);
const nonces = new NonceManager(wallet);
const target = TEST_TOKEN_ADDRESS.toLowerCase();

await serveRelay(async (raw) => {
  const inner = Transaction.from(raw);
  if (inner.chainId !== BigInt(CHAIN_ID)) throw new Error("wrong chain");
  if ((inner.gasPrice ?? 0n) !== 0n) throw new Error("the gas price is not 0");
  if (inner.to?.toLowerCase() !== target || !inner.data.startsWith("0x095ea7b3"))
    throw new Error("not allowed");
  if (!inner.from) throw new Error("no sender");
  const next = nonces.getNonce("pending");
  nonces.increment();
  const signed = await wallet.signTransaction({
    type: 0,
    chainId: CHAIN_ID,
    nonce: await next,
    gasPrice: 0n,
    gasLimit: inner.gasLimit + WRAPPER_GAS,
    to: MARKER,
    value: 0n,
    data: raw,
  });
  await provider.send("eth_sendRawTransaction", [signed]);
  return { id: randomUUID(), hash: inner.hash };
});
