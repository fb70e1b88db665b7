// The devnet in a process of its own.
import { createDevnet } from "../../packages/devnet/dist/index.js";
import { present } from "./contestant.mjs";

const devnet = await createDevnet();
const { url } = await devnet.listen({ port: 0 });
present({ url, close: () => devnet.close() });
