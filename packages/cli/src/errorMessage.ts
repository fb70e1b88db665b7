/** Ends a command. The message is one sentence for the person who called it. */
export class CommandFailedError extends Error {
  override readonly name: string = "CommandFailedError";
}

/** Ends a command that was interrupted before its work was complete. Its status tells a script so. */
export class IncompleteError extends CommandFailedError {
  override readonly name = "IncompleteError";
}

/** The text to print for an error that ends the program: one sentence, or the stack if it is a defect of the program. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof CommandFailedError) return error.message;
  return listenErrorMessage(error) ?? `unexpected error: ${error.stack ?? error.message}`;
}

interface SystemError extends Error {
  readonly code?: unknown;
  readonly address?: unknown;
  readonly hostname?: unknown;
  readonly port?: unknown;
}

/** A sentence for the system errors of listening on an address. */
export function listenErrorMessage({ code, address, hostname, port }: SystemError): string | undefined {
  if (typeof hostname === "string") return `there is no address for the host name ${hostname}`;
  if (typeof address !== "string" || port === undefined) return undefined;
  if (code === "EADDRINUSE") return `port ${port} of ${address} is in use by another program`;
  if (code === "EACCES") return `port ${port} of ${address} needs rights that this user does not have`;
  if (code === "EADDRNOTAVAIL") return `${address} is not an address of this machine`;
  return undefined;
}
