// The attacker: does what it is told for so many seconds, and holds what it has until it is told to let go.
//
//   node attacker.mjs <the service's address>
import { present } from "../service/contestant.mjs";
import { Attacker } from "./attacks/attacker.mjs";
import { ATTACKS } from "./attacks/index.mjs";

const [url] = process.argv.slice(2);
let attacker;

present({
  url,
  close: async () => attacker?.letGo(),
  answers: {
    async attack({ name, seconds }) {
      attacker = new Attacker(url, seconds * 1_000);
      await ATTACKS[name].run(attacker);
      await attacker.over;
      return attacker.counts;
    },
    letGo() {
      attacker.letGo();
      return {};
    },
  },
});
