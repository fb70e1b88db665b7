// The attackers of a mixture.
//
//   node attacker.mjs <the target's address> <its first user's number>
import { Attacker } from "../abuse/attacks/attacker.mjs";
import { answerBenchmark } from "../service/contestant.mjs";
import { attack, bodiesOf } from "./attack.mjs";

const [url, first] = process.argv.slice(2);
/** Users of one attacker in one attack. */
const USERS = 10_000;
let user = Number(first);
/** The attackers of the mixture, with their bodies. */
let prepared = [];

answerBenchmark({
  url,
  close: async () => process.exit(0),
  answers: {
    prepare({ mixture }) {
      prepared = mixture.map((spec) => {
        user += USERS;
        return { spec, bodies: bodiesOf(spec, user) };
      });
      return {};
    },
    /** Resolves when the time is over. */
    async attack({ seconds }) {
      const attackers = prepared.map(({ spec, bodies }) => {
        const one = new Attacker(url, seconds * 1_000);
        void attack(one, spec, bodies);
        return one;
      });
      await Promise.all(attackers.map(({ finished }) => finished));
      for (const one of attackers) one.release();
      const requests = attackers.map(({ counts }) => (counts.requests ?? 0) + (counts.frames ?? 0));
      return { requests };
    },
  },
});
