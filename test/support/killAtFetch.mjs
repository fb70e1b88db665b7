// Loaded before a program (`node --import`): kills its process at the fetch of this number, before the request, while the request
// is on its way, or after the answer.
const limit = Number(process.env.KILL_AT ?? "Infinity");
const moment = process.env.KILL_MOMENT ?? "before";
const { fetch } = globalThis;
const kill = () => process.kill(process.pid, "SIGKILL");
let fetches = 0;

globalThis.fetch = async (...args) => {
  fetches += 1;
  if (fetches !== limit) return await fetch(...args);
  if (moment === "before") kill();
  const answer = fetch(...args);
  if (moment === "during") setTimeout(kill, 2);
  // An answer that fails has come too.
  await answer.catch(() => undefined);
  kill();
  return await answer;
};
