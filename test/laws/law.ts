import fc from "fast-check";

/** Something that holds for every generated case. */
export interface Law {
  readonly name: string;
  /** Does a case recover a public key (slow in the oracles, which do it in JavaScript)? */
  readonly recovers: boolean;
  /** The cases of one run of the tests. */
  readonly cases: number;
  check(options: { readonly seed: number; readonly cases: number }): Promise<Outcome>;
}

/** `failure` tells the counterexample, shrunk, and the seed that leads to it again. */
export interface Outcome {
  readonly cases: number;
  readonly failure?: string;
}

interface Size {
  readonly cases: number;
  readonly recovers?: boolean;
}

/** A law over one generated value: `holds` throws where it is broken. */
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
      // fast-check keeps what was thrown apart from its report.
      const thrown = details.errorInstance;
      const cause = thrown instanceof Error ? thrown.stack : String(thrown);
      return { cases: details.numRuns, failure: `${fc.defaultReportMessage(details)}\n\n${cause}` };
    },
  };
}
