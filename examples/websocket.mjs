// Frames over a WebSocket, without the SDK: submit, lose the connection, watch:  node examples/websocket.mjs
import { HDNodeWallet, Interface, JsonRpcProvider, parseUnits } from "ethers";
// The WebSocket of browsers cannot send the API key in a header, and Node 20 has none; the one of `ws` can.
import { WebSocket } from "ws";
import { apiKey, rpcUrl, token, url } from "./settings.mjs";

const provider = new JsonRpcProvider(rpcUrl, undefined, { pollingInterval: 200 });
// A user of the local chain, with test tokens and no native coin.
const phrase = "test test test test test test test test test test test junk";
const wallet = HDNodeWallet.fromPhrase(phrase, undefined, "m/44'/60'/0'/0/8");

const abi = new Interface(["function transfer(address to, uint256 amount)"]);
const data = abi.encodeFunctionData("transfer", [
  "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  parseUnits("3", 18),
]);
const nonce = await provider.getTransactionCount(wallet.address);
const tx = { type: 0, chainId: 2201, nonce, gasPrice: 0, gasLimit: 100_000, to: token, data };
const signed = await wallet.signTransaction(tx);
provider.destroy();

/** Sends one frame. Resolves with the lines of its request once the service says that it is done. */
async function ask(frame) {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/v1/submit`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  const lines = [];
  await new Promise((resolve, reject) => {
    socket.on("open", () => socket.send(JSON.stringify(frame)));
    socket.on("message", (text) => {
      const answer = JSON.parse(text);
      if (answer.done) resolve();
      // A line has an index. An error without one belongs to the whole request.
      else if ("index" in answer) lines.push(answer);
      else reject(new Error(answer.error.message));
    });
    socket.on("error", reject);
    socket.on("close", (code) => reject(new Error(`closed with ${code}`)));
  });
  socket.close();
  return lines;
}

const [sent] = await ask({ id: 1, transactions: [signed] });
console.log(JSON.stringify(sent));
if (!sent.success) process.exit(1);
// Another connection, as after a lost one, needs only the id of the submission.
const [included] = await ask({ id: "again", watch: [sent.id], wait: "included" });
console.log(JSON.stringify(included));
