/** Why a state folder cannot be used, in one sentence for the person who named it. */
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
