import { setTimeout as sleep } from "node:timers/promises";
import { bytesToHex, crypto } from "@gas-waiver/protocol";
import { lanes, type Troubles } from "./trouble.js";
import { inDays } from "./world.js";

let flood: NodeJS.Timeout | undefined;
let floodKey = { key: "", record: { id: "" } };
const FLOOD_PER_SECOND = 50;

/** In s from 1970, as the metric has it. */
const endsSoon = () => inDays(14).getTime() / 1_000;

/** Troubles of the replicas and their clients. */
export const SERVICE_TROUBLES = {
  replicaKilled: {
    text: "a replica is killed",
    signal: /^up\{instance="one"\} 0/,
    alarms: ["GasWaiverReplicaDown"],
    remedy: "start it again",
    begin: ({ replicas }) => replicas[0].kill(),
    end: ({ replicas }) => replicas[0].start(),
  },
  replicaFrozen: {
    text: "a replica is frozen for a minute",
    signal: /^up\{instance="two"\} 0/,
    alarms: ["GasWaiverReplicaDown"],
    remedy: "SIGKILL, start it again",
    async begin({ replicas }) {
      replicas[1].signal("SIGSTOP");
      await sleep(60_000);
    },
    async end({ replicas }) {
      await replicas[1].kill();
      await replicas[1].start();
    },
  },
  clockJumped: {
    text: "a replica's clock jumps 3.5 days",
    signal: /store_clock_ahead_seconds -?\d{4,}/,
    alarms: ["GasWaiverClocksApart"],
    remedy: "set the clock",
    begin: ({ replicas }) => replicas[0].signal("SIGUSR2"),
    end: ({ replicas }) => replicas[0].signal("SIGUSR2"),
  },
  keyFlood: {
    text: "an API key floods",
    signal: /key_refused_requests\{[^}]*\} [1-9]\d{2,}/,
    alarms: ["GasWaiverKeyFloods"],
    remedy: "`gas-waiver keys disable`",
    async begin({ gasWaiver, proxy }) {
      const created = await gasWaiver(
        "keys",
        "create",
        "--label",
        "flood",
        "--env",
        "test",
        "--rate",
        "1",
        "--json",
      );
      floodKey = JSON.parse(created);
      const headers = { authorization: `Bearer ${floodKey.key}`, "content-type": "application/json" };
      const body = JSON.stringify({ transactions: [bytesToHex(crypto.keccak256(new Uint8Array()))] });
      flood = setInterval(() => {
        const sent = fetch(`${proxy.url}/v1/submit`, { method: "POST", headers, body });
        void sent.then((answer) => answer.text()).catch(() => {});
      }, 1_000 / FLOOD_PER_SECOND);
    },
    async end({ gasWaiver }) {
      await gasWaiver("keys", "disable", "--key", floodKey.record.id);
      clearInterval(flood);
    },
  },
  queueFull: {
    text: "the queue is full: somebody stopped all lanes",
    signal: /lane_stopped\{[^}]*\} 1/,
    alarms: ["GasWaiverRefuses", "GasWaiverLinesFail"],
    remedy: "`gas-waiver stuck`, `gas-waiver lanes open`",
    async begin(world) {
      world.configure({ "queue-capacity": 30, "max-batch-size": 10 });
      await lanes(world, "stop", 0, 1);
    },
    async end(world) {
      await world.gasWaiver("stuck");
      await lanes(world, "open", 0, 1);
      world.configure({});
    },
  },
  ownCertificate: {
    text: "the service's certificate ends",
    signal: {
      test: (line) => Number(/ gas_waiver_certificate_end_seconds (\S+)/.exec(line)?.[1]) < endsSoon(),
    },
    alarms: ["GasWaiverCertificateEnds"],
    remedy: "new files, SIGHUP",
    begin({ showCertificate, reload }) {
      showCertificate(new Date(Date.now() + 20_000));
      reload();
    },
    end({ showCertificate, reload }) {
      showCertificate(inDays(90));
      reload();
    },
  },
} satisfies Troubles;
