// A devnet that makes blocks when told to. Prints its address, then serves until it is ended.
import { createDevnet } from "../../packages/devnet/dist/index.js";

const devnet = await createDevnet({ blockTimeMs: 0, automine: false });
const { url } = await devnet.listen({ port: 0 });
console.log(url);
