// Loaded into a replica before its program: its clock jumps ahead at SIGUSR2, and back at the next one. A process cannot set the
// machine's clock, which others share.
const JUMP_MS = 3.5 * 86_400_000;
const TrueDate = Date;
let aheadMs = 0;

class JumpingDate extends TrueDate {
  constructor(...parts) {
    super(...(parts.length === 0 ? [TrueDate.now() + aheadMs] : parts));
  }
  static now() {
    return TrueDate.now() + aheadMs;
  }
}
globalThis.Date = JumpingDate;
process.on("SIGUSR2", () => {
  aheadMs = JUMP_MS - aheadMs;
});
