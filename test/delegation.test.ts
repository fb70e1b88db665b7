// The proof that an EIP-7702 authorization has used a nonce, on blocks of the devnet. The transactions are signed with viem,
// whose encoding is independent of this project's.
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { bytesToHex, hexToBytes } from "@gas-waiver/protocol";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { NodeClient } from "../packages/server/src/chain/client/nodeClient.js";
import { createNonceProofs, type NonceProofs } from "../packages/server/src/chain/nonceProof.js";
import { createRpc } from "../packages/server/src/chain/rpc/rpc.js";
import { type RpcCall, rpcOf } from "./support/jsonRpc.js";
import { account, CHAIN_ID, TOKEN } from "./support/user.js";

const ended = new AbortController();
let devnet: Devnet;
let rpc: RpcCall;
let proofs: NonceProofs;
/** In ms. */
let time = 0;
/** Longer than the pauses of a search, and shorter than a search is remembered. */
const PAUSE_MS = 31_000;
beforeAll(async () => {
  devnet = await createDevnet({ blockTimeMs: 0 });
  const { url } = await devnet.listen({ port: 0 });
  rpc = rpcOf(url);
  const chain = new NodeClient(createRpc({ rpcUrls: [url], rpcTimeoutMs: 5_000, signal: ended.signal }));
  proofs = createNonceProofs({ chain, reorgDepth: 1, now: () => time, searchAfterMs: 0 });
});
afterAll(async () => {
  ended.abort();
  await devnet?.close();
});

const signer = (i: number): PrivateKeyAccount => privateKeyToAccount(account(i).privateKey as `0x${string}`);

/** Sends a transaction of the payer with an authorization of another account, or of the payer, and returns its hash. */
async function delegate(
  payer: number,
  nonce: number,
  { authority, with: authorizationNonce, chainId = CHAIN_ID }: Authorized,
): Promise<string> {
  const authorization = await signer(authority).signAuthorization({
    chainId,
    address: TOKEN,
    nonce: authorizationNonce,
  });
  const raw = await signer(payer).signTransaction({
    type: "eip7702",
    chainId: CHAIN_ID,
    nonce,
    gas: 200_000n,
    maxFeePerGas: 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 9n,
    to: signer(7).address,
    authorizationList: [authorization],
  });
  return rpc("eth_sendRawTransaction", raw);
}

interface Authorized {
  readonly authority: number;
  readonly with: number;
  readonly chainId?: number;
}

/** The use of an account's nonce: `kind transaction`, as the final blocks show it. */
async function useOf(i: number, nonce: bigint): Promise<string | undefined> {
  const wanted = { account: hexToBytes(signer(i).address), nonce };
  await proofs.find(wanted);
  time += PAUSE_MS;
  while ((await proofs.search()) !== "rest");
  const use = await proofs.find(wanted);
  return use && `${use.by} ${bytesToHex(use.transaction.hash)}`;
}

it("names the transaction with the authorization that had its turn, of another sender and of the account itself", async () => {
  // This one has no effect, because it is for a later nonce.
  await delegate(13, 0, { authority: 1, with: 1 });
  const paidFor = await delegate(13, 1, { authority: 1, with: 0 });
  expect(await useOf(1, 0n), "its block is not final").toBeUndefined();
  await rpc("anvil_setBalance", signer(2).address, "0xde0b6b3a7640000");
  const own = await delegate(2, 0, { authority: 2, with: 1 });
  const anyChain = await delegate(13, 2, { authority: 3, with: 0, chainId: 0 });
  await delegate(13, 3, { authority: 4, with: 0, chainId: 1 });
  await rpc("evm_mine");
  expect(await useOf(1, 0n)).toBe(`authorization ${paidFor}`);
  expect(await useOf(1, 1n)).toBeUndefined();
  expect(await useOf(2, 0n)).toBe(`sender ${own}`);
  expect(await useOf(2, 1n)).toBe(`authorization ${own}`);
  expect(await useOf(3, 0n)).toBe(`authorization ${anyChain}`);
  expect(await useOf(4, 0n), "the authorization is for another chain").toBeUndefined();
});
