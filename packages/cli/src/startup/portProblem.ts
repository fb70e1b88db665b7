import { createServer } from "node:net";
import { listenErrorMessage } from "../errorMessage.js";

/** Opens a port and closes it again. @returns a sentence if that is not possible. */
export async function portProblem(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    await new Promise<void>((done, failed) => {
      server.once("error", failed);
      server.listen({ host: host === "localhost" ? "127.0.0.1" : host, port, exclusive: true }, done);
    });
  } catch (error) {
    const failure = Object.assign(error as Error, { address: host, port });
    return listenErrorMessage(failure) ?? `port ${port} of ${host} cannot be opened: ${failure.message}`;
  }
  await new Promise((done) => server.close(done));
  return undefined;
}
