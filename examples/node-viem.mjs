// Two transfers at once, without gas, with viem:  node examples/node-viem.mjs
import { gasWaiverActions } from "@gas-waiver/client/viem";
import { createWalletClient, defineChain, http, parseAbi, parseUnits } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { apiKey, rpcUrl, token, url } from "./settings.mjs";

const chain = defineChain({
  id: 2201,
  name: "local",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [rpcUrl] } },
});
// A user of the local chain, with test tokens and no native coin.
const account = mnemonicToAccount("test test test test test test test test test test test junk", {
  addressIndex: 6,
});
const client = createWalletClient({ account, chain, transport: http() }).extend(
  gasWaiverActions({ url, apiKey }),
);

const transfer = (to, amount) =>
  client.writeGaslessContract({
    address: token,
    abi: parseAbi(["function transfer(address to, uint256 amount) returns (bool)"]),
    functionName: "transfer",
    args: [to, parseUnits(amount, 18)],
  });

const hashes = await Promise.all([
  transfer("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", "1"),
  transfer("0x90F79bf6EB2c4f870365E785982E1f101E93b906", "2"),
]);
for (const hash of hashes) {
  const receipt = await client.waitForGaslessReceipt({ hash });
  console.log(hash, receipt.status, `block ${receipt.blockNumber}`, `gas price ${receipt.effectiveGasPrice}`);
}
