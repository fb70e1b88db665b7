// Serves a devnet that makes blocks only on request. Prints its address first.
import { createDevnet } from "../../packages/devnet/dist/index.js";

const devnet = await createDevnet({ blockTimeMs: 0, automine: false });
const { url } = await devnet.listen({ port: 0 });
console.log(url);
