/** The service that a description is of. */
export interface DescribedService {
  readonly version: string;
  /** The beginning of its paths, such as `/mainnet` of a network among several; empty by default. */
  readonly basePath?: string;
}
