/** What ends a command, said in one sentence for the person who called it. */
export class CommandFailedError extends Error {
  override readonly name: string = "CommandFailedError";
}

/** What a person is told of an error that ends the program: a sentence, or for a defect of ours where it was. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof CommandFailedError) return error.message;
  return systemSentence(error) ?? `unexpected error: ${error.stack ?? error.message}`;
}

interface SystemError extends Error {
  readonly code?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
}

/** What the system says when an address cannot be listened on. */
function systemSentence({ code, address, port }: SystemError): string | undefined {
  if (typeof address !== "string" || port === undefined) return undefined;
  const where = `port ${port} of ${address}`;
  if (code === "EADDRINUSE") return `${where} is in use; choose another port, or 0 for a free one`;
  if (code === "EACCES") return `${where} may not be used by this user; choose another port`;
  if (code === "EADDRNOTAVAIL") return `this machine has no address ${address}`;
  return undefined;
}
