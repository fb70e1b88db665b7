/** The stations of a submission, each with the time that it ends and the time that it begins. */
const STATIONS = {
  "the load generator is late": ["dueTime", "sentTime"],
  "on the way to the service": ["sentTime", "arrived"],
  "in the service, before the accept write": ["arrived", "accepted"],
  "accept write, queue, plan and signature": ["accepted", "signed"],
  "write of the signature, send to the node": ["signed", "received"],
  "node's answer, result line": ["received", "lineTime"],
};

/** The time in ms that an id begins with: the service has read the request (D15). */
const arrivedOf = (id) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/**
 * Adds the times of the service and the node to the slowest requests.
 * @returns each with the ms of its stations, the longest one as its cause, and the pauses of the service meanwhile.
 */
export async function traceSlowest(slowest, { service, node }) {
  const pauses = await service.ask("pauses");
  const rows = await service.ask("times", { ids: slowest.map(({ id }) => id) });
  const received = await node.ask("received", { wrappers: rows.map(({ wrapper }) => wrapper) });
  // The node forgets the times of early wrappers in a long run.
  const byId = new Map(rows.map((row, i) => [row.id, { ...row, received: received[i] ?? row.signed }]));
  return slowest.map((request) => {
    const times = { ...request, arrived: arrivedOf(request.id), ...byId.get(request.id) };
    const stations = Object.fromEntries(
      Object.entries(STATIONS).map(([name, [from, to]]) => [name, Math.max(0, times[to] - times[from])]),
    );
    const [cause] = Object.entries(stations).sort(([, a], [, b]) => b - a)[0];
    const meanwhile = pauses.filter(({ from, ms }) => from + ms > request.dueTime && from < request.lineTime);
    return { ...times, stations, cause, pauses: meanwhile };
  });
}

/** Counts the causes, the most frequent first. */
export function causesOf(traces) {
  const causes = new Map();
  for (const { cause, stations, pauses } of traces) {
    const found = causes.get(cause) ?? { cause, requests: 0, ms: 0, withGc: 0, withBusyLoop: 0 };
    found.requests++;
    found.ms += stations[cause];
    if (pauses.some(({ kind }) => kind === "garbage collection")) found.withGc++;
    if (pauses.some(({ kind }) => kind === "busy event loop")) found.withBusyLoop++;
    causes.set(cause, found);
  }
  return [...causes.values()]
    .sort((a, b) => b.requests - a.requests)
    .map(({ ms, ...found }) => ({ ...found, meanMs: ms / found.requests }));
}
