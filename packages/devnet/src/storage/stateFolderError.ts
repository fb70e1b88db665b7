/** Thrown if a state folder cannot be used. The message is one sentence for the person who named the folder. */
export class StateFolderError extends Error {
  override readonly name = "StateFolderError";

  constructor(
    readonly folder: string,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`the state folder ${folder} ${problem}`, options);
  }
}
