// The program of the signing thread. It signs one request after the other.
import { parentPort } from "node:worker_threads";
import { useNativeCrypto } from "@gas-waiver/crypto-native";
import { pack, READY, type SignAnswer, type SignRequest, wrapperRequestsOf } from "./messages.js";
import { signWrappers } from "./wrappers.js";

const port = parentPort;
if (port === null) throw new Error("this program is a thread of the service");

// Each thread has a backend of its own; the service has already warned of a slow one.
await useNativeCrypto();

function answerTo(request: SignRequest): SignAnswer {
  try {
    const signed = signWrappers(wrapperRequestsOf(request), request);
    const wrappers = pack(signed.map(({ wrapperRaw }) => wrapperRaw));
    return { id: request.id, wrappers, hashes: pack(signed.map(({ wrapperHash }) => wrapperHash)) };
  } catch (error) {
    return { id: request.id, error: (error as Error).message };
  }
}

port.on("message", (request: SignRequest) => {
  const answer = answerTo(request);
  port.postMessage(
    answer,
    "error" in answer ? [] : [answer.wrappers.bytes.buffer, answer.hashes.bytes.buffer],
  );
});
port.postMessage(READY);
