// The devnet as the benchmark's node.
import { createDevnet } from "../../packages/devnet/dist/index.js";
import { answerBenchmark } from "./contestant.mjs";

const devnet = await createDevnet();
const { url } = await devnet.listen({ port: 0 });
answerBenchmark({ url, close: () => devnet.close() });
