import fc from "fast-check";

/** A property that holds for every generated case. */
export interface Law {
  readonly name: string;
  /** True if a case recovers a public key, which is slow in the oracles: they do it in JavaScript. */
  readonly recovers: boolean;
  /** The number of cases in one run of the tests. */
  readonly cases: number;
  check(options: { readonly seed: number; readonly cases: number }): Promise<Outcome>;
}

/** `failure` has the smallest counterexample and the seed that reproduces it. */
export interface Outcome {
  readonly cases: number;
  readonly failure?: string;
}

interface Size {
  readonly cases: number;
  readonly recovers?: boolean;
}

/** A law over one generated value. `holds` throws if the value breaks it. */
export function law<T>(
  name: string,
  { cases, recovers = false }: Size,
  arbitrary: fc.Arbitrary<T>,
  holds: (value: T) => void | Promise<void>,
): Law {
  const property = fc.asyncProperty(arbitrary, async (value) => {
    const pending = holds(value);
    if (pending !== undefined) await pending;
  });
  return {
    name,
    recovers,
    cases,
    async check(options): Promise<Outcome> {
      const details = await fc.check(property, { seed: options.seed, numRuns: options.cases });
      if (!details.failed) return { cases: details.numRuns };
      // The report of fast-check does not include the thrown error.
      const thrown = details.errorInstance;
      const cause = thrown instanceof Error ? thrown.stack : String(thrown);
      return { cases: details.numRuns, failure: `${fc.defaultReportMessage(details)}\n\n${cause}` };
    },
  };
}
