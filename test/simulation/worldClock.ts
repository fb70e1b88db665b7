/** The clock of the world outside of the service. Its timers belong to no replica. */
export interface WorldClock {
  /** The time since the world began, in ms. */
  now(): number;
  /** The true time of day, in ms since 1970, which no replica's or database's clock step moves. */
  wallMs(): number;
  after(ms: number, run: () => void): void;
}
