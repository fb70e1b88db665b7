/** The options are invalid. `problems` has one sentence for each problem. */
export class InvalidOptionsError extends Error {
  override readonly name = "InvalidOptionsError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the options of the service are wrong: ${problems.join("; ")}`);
    this.problems = problems;
  }
}

/** The service cannot start or go on. The message is one sentence for a person. */
export class StartError extends Error {
  override readonly name = "StartError";
}
