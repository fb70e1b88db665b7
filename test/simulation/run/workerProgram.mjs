// A process that runs worlds for `npm run simulate`: each message brings a plan, and each answer a result.
import { pathToFileURL } from "node:url";

process.setSourceMapsEnabled(true);
const [program, server, name, place] = process.argv.slice(2);
const { openWorker } = await import(pathToFileURL(program).href);
const worker = await openWorker(JSON.parse(server), name, Number(place));
process.on("message", async ({ plan, options }) => {
  process.send(await worker.run(plan, options).catch((error) => ({ failure: error.stack })));
});
// A terminal interrupts all processes of the program: the parent ends this one.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit());
process.send({ isReady: true });
