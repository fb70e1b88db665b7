// The attacker's process. It runs one attack for a number of seconds, and then holds the attack's open connections until `release`.
//
//   node attacker.mjs <the service's address>
import { answerBenchmark } from "../service/contestant.mjs";
import { Attacker } from "./attacks/attacker.mjs";
import { ATTACKS } from "./attacks/index.mjs";

const [url] = process.argv.slice(2);
let attacker;

answerBenchmark({
  url,
  close: async () => attacker?.release(),
  answers: {
    async attack({ name, seconds }) {
      attacker = new Attacker(url, seconds * 1_000);
      await ATTACKS[name].run(attacker);
      await attacker.finished;
      return attacker.counts;
    },
    release() {
      attacker.release();
      return {};
    },
  },
});
