// Two transfers at once, without gas, with ethers:  node examples/node-ethers.mjs
import { GasWaiverSigner } from "@gas-waiver/client/ethers";
import { Contract, HDNodeWallet, JsonRpcProvider, parseUnits } from "ethers";
import { apiKey, rpcUrl, token, url } from "./settings.mjs";

const provider = new JsonRpcProvider(rpcUrl);
// A user of the local chain, with test tokens and no native coin.
const phrase = "test test test test test test test test test test test junk";
const wallet = HDNodeWallet.fromPhrase(phrase, undefined, "m/44'/60'/0'/0/7").connect(provider);
const signer = new GasWaiverSigner(wallet, { url, apiKey });

const abi = ["function transfer(address to, uint256 amount) returns (bool)"];
const contract = new Contract(token, abi, signer);

const sent = await Promise.all([
  contract.transfer("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", parseUnits("1", 18)),
  contract.transfer("0x90F79bf6EB2c4f870365E785982E1f101E93b906", parseUnits("2", 18)),
]);
for (const transaction of sent) {
  const receipt = await signer.waitForTransaction(transaction.hash);
  console.log(receipt.hash, `status ${receipt.status}`, `block ${receipt.blockNumber}`);
}
provider.destroy();
