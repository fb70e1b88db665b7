import type { FastifyInstance } from "fastify";

/** The time that the last result lines have to reach their clients when the service closes, in ms. */
const LAST_LINES_MS = 500;

/**
 * Closes the ports of a service whose lines have their last answers. These need a moment, and a client that sends its request
 * slowly would delay the end for a minute.
 */
export async function closeApps(apps: readonly FastifyInstance[]): Promise<void> {
  const cut = setTimeout(() => {
    for (const { server } of apps) server.closeAllConnections();
  }, LAST_LINES_MS);
  await Promise.all(apps.map((app) => app.close()));
  clearTimeout(cut);
}
