import type { Context } from "../command.js";

/** The settings of `serve` itself, beside those of the service. */
export const SERVE_OUTPUT_SETTINGS = {
  json: {
    flag: "json",
    help: "Print a JSON object a line, for supervisors: when the service is ready, and when its shutdown begins and is done.",
  },
} as const;

/** The addresses of a service that is ready, and what it serves. */
export interface ReadyService {
  readonly url: string;
  readonly metricsUrl: string | undefined;
  readonly adminUrl: string | undefined;
  readonly chainId?: number;
  /** The networks by their names, of a service with several. */
  readonly networks?: readonly {
    readonly name: string;
    readonly chainId: number;
    readonly trouble: string | undefined;
  }[];
}

/** Prints what a service says on standard output. */
export interface ServeOutput {
  readonly print: (line: string) => void;
  ready(service: ReadyService, sentence: string): void;
  /** Called when the service is told to end, and when it has ended. */
  shutdown(stage: "begun" | "done"): void;
}

/** Prints sentences for people, or a JSON object a line for supervisors: `ready`, `shutdown`, and sentences as `message`. */
export function serveOutput({ print }: Pick<Context, "print">, isJson: boolean): ServeOutput {
  if (!isJson) return { print, ready: (_, sentence) => print(sentence), shutdown: () => {} };
  const write = (value: object) => print(JSON.stringify(value));
  return {
    print: (message) => write({ message }),
    ready: (service) => write({ ready: true, ...service }),
    shutdown: (stage) => write({ shutdown: stage }),
  };
}
