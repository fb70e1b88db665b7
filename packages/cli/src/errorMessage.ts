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
  // A refusal of the system, such as that of a folder that is a file, is no defect of the program.
  const refusal = "syscall" in error ? error.message : undefined;
  return listenErrorMessage(error) ?? refusal ?? `unexpected error: ${error.stack ?? error.message}`;
}

/** The codes of a certificate that no issuer known to this machine stands for. */
const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/;

/**
 * The failure of a request that `fetch` could not send, which hides the system's error behind its own "fetch failed".
 * @param who was asked, such as "the node at 127.0.0.1:8545": no URL, which may hold a secret.
 */
export function unreachable(who: string, error: unknown): CommandFailedError {
  const { cause, message } = error as Error & { cause?: { code?: unknown; message?: unknown } };
  const why = String(cause?.code ?? cause?.message ?? message);
  const remedy = UNTRUSTED.test(why)
    ? ": this machine does not trust its certificate; if you do, name its file with NODE_EXTRA_CA_CERTS=FILE"
    : "";
  return new CommandFailedError(`${who} cannot be reached: ${why}${remedy}`, { cause: error });
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
  if (typeof address !== "string") return undefined;
  if (code === "EADDRNOTAVAIL") return `${address} is not an address of this machine`;
  if (port === undefined) return undefined;
  if (code === "EADDRINUSE") return `port ${port} of ${address} is in use by another program`;
  if (code === "EACCES") return `port ${port} of ${address} needs rights that this user does not have`;
  return undefined;
}
