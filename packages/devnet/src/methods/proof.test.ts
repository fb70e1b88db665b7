import { verifyMerkleProof } from "@ethereumjs/mpt";
import { RLP } from "@ethereumjs/rlp";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { keccak256 } from "ethers";
import { expect, it } from "vitest";
import { addressOf, signInner, transferData, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";

// EthereumJS' trie verifies the proofs against the state root in the header.

const node = useTestNode();

interface Proof {
  readonly accountProof: Hex[];
  readonly balance: Hex;
  readonly nonce: Hex;
  readonly codeHash: Hex;
  readonly storageHash: Hex;
  readonly storageProof: { readonly key: Hex; readonly value: Hex; readonly proof: Hex[] }[];
}

const provenBy = (key: Hex, proof: readonly Hex[], root: Hex) => {
  expect(proof[0] === undefined ? undefined : keccak256(proof[0])).toBe(root);
  return verifyMerkleProof(hexToBytes(keccak256(key)), proof.map(hexToBytes));
};
const minimal = (value: Hex) => (BigInt(value) === 0n ? new Uint8Array() : BigInt(value));

it("a proof verifies an account, its slots, or their absence, against the header's state root", async () => {
  for (let i = 0; i < 10; i++) {
    const data = transferData(addressOf((i + 1) % 10), BigInt(i + 1));
    await node.sendAndMine(wrap(signInner(i, { data }), { nonce: BigInt(i) }));
  }
  const { stateRoot } = await node.rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest");
  const slots = Array.from({ length: 6 }, (_, i): Hex => `0x${i.toString(16)}`);
  for (const account of [TEST_TOKEN_ADDRESS, addressOf(0), addressOf(13)] as Hex[]) {
    const proof = await node.rpc<Proof>("eth_getProof", account, slots, "latest");
    const value = await provenBy(account, proof.accountProof, stateRoot);
    const { nonce, balance, storageHash, codeHash } = proof;
    const record = RLP.encode([
      minimal(nonce),
      minimal(balance),
      hexToBytes(storageHash),
      hexToBytes(codeHash),
    ]);
    expect(bytesToHex(value ?? new Uint8Array())).toBe(bytesToHex(record));
    for (const { key, value: stored, proof: nodes } of proof.storageProof) {
      if (account !== TEST_TOKEN_ADDRESS) continue;
      const found = await provenBy(key, nodes, storageHash);
      expect(found === null ? 0n : BigInt(bytesToHex(RLP.decode(found) as Uint8Array))).toBe(BigInt(stored));
    }
  }
  const unusedAddress: Hex = `0x${"9a".repeat(20)}`;
  const absent = await node.rpc<Proof>("eth_getProof", unusedAddress, [], "latest");
  expect(await provenBy(unusedAddress, absent.accountProof, stateRoot)).toBeNull();
});

it("a proof is refused for an earlier block, and for a state that was changed since the latest block", async () => {
  await node.devnet.mine();
  const prove = (tag: string) => node.rpc("eth_getProof", addressOf(0), [], tag);
  await expect(prove("0x0")).rejects.toThrow("proofs are of the latest block, 1, only");
  await node.rpc("anvil_setBalance", addressOf(0), "0x1");
  await expect(prove("latest")).rejects.toThrow("make a block first");
  await node.devnet.mine();
  await prove("latest");
});
