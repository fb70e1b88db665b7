/** The options are invalid. `problems` has one sentence for each problem. */
export class InvalidOptionsError extends Error {
  override readonly name = "InvalidOptionsError";

  constructor(readonly problems: readonly string[]) {
    super(`the options of the service are wrong: ${problems.join("; ")}`);
  }
}

/** The service cannot start or go on. The message is one sentence for a person, or one for each of the `problems`. */
export class StartError extends Error {
  override readonly name = "StartError";
  readonly problems: readonly string[];

  constructor(problems: string | readonly string[], options?: ErrorOptions) {
    const all = typeof problems === "string" ? [problems] : problems;
    super(all.join("; "), options);
    this.problems = all;
  }
}
