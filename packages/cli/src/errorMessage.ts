/** What ends a command, said in one sentence for the person who called it. */
export class CommandFailedError extends Error {
  override readonly name: string = "CommandFailedError";
}

/** What a person is told of an error that ends the program: a sentence, or for a defect of ours where it was. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof CommandFailedError) return error.message;
  return systemErrorMessage(error) ?? `unexpected error: ${error.stack ?? error.message}`;
}

interface SystemError extends Error {
  readonly code?: unknown;
  readonly address?: unknown;
  readonly hostname?: unknown;
  readonly port?: unknown;
}

/** What the system says when an address cannot be listened on. */
function systemErrorMessage({ code, address, hostname, port }: SystemError): string | undefined {
  if (typeof hostname === "string") return `there is no address for the host name ${hostname}`;
  if (typeof address !== "string" || port === undefined) return undefined;
  if (code === "EADDRINUSE") return `port ${port} of ${address} is in use by another program`;
  if (code === "EACCES") return `port ${port} of ${address} needs rights that this user does not have`;
  if (code === "EADDRNOTAVAIL") return `${address} is not an address of this machine`;
  return undefined;
}
