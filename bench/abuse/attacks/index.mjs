import { heldBodies, largestBatches, slowBodies, strangeJson, tinyChunks } from "./bodies.mjs";
import {
  badKeys,
  bodiesWithUnknownKey,
  endlessHeads,
  idleSockets,
  silent,
  slowReaders,
} from "./connections.mjs";
import {
  halfFrames,
  lists,
  manyLists,
  reads,
  refusals,
  requestsWithoutKey,
  reusedKeys,
  watches,
} from "./floods.mjs";
import { oneConnection } from "./oneConnection.mjs";
import { emptyFragments, endlessFragments, heldFrames, pings, tinyFragments } from "./sockets.mjs";

/** The attacks by name. */
export const ATTACKS = {
  none: { description: "no attack, for comparison", run: async () => {} },
  "idle-sockets": { description: "5,000 WebSockets that ask for nothing", run: idleSockets },
  "slow-readers": {
    description: "1,000 connections that send requests and read no answer",
    run: slowReaders,
  },
  silent: { description: "2,000 connections that send nothing", run: silent },
  "endless-heads": { description: "1,000 request heads that never end", run: endlessHeads },
  "slow-bodies": { description: "1,000 bodies that come a byte at a time", run: slowBodies },
  "bad-keys": { description: "100,000 unknown keys a minute", run: badKeys },
  strangers: {
    description: "50 bodies of 33 MB and more with an unknown key, to an unknown path",
    run: bodiesWithUnknownKey,
  },
  "tiny-chunks": { description: "4 endless bodies in chunks of one byte", run: tinyChunks },
  "held-bodies": { description: "50 bodies of 32 MiB that never end", run: heldBodies },
  "largest-batches": { description: "batches of 26 MB with the largest transactions", run: largestBatches },
  "strange-json": {
    description:
      "JSON that is deep or wide, or has repeated keys, __proto__, lone surrogates or huge numbers",
    run: strangeJson,
  },
  "endless-fragments": { description: "20 WebSockets with a message that never ends", run: endlessFragments },
  "tiny-fragments": { description: "the same in fragments of one byte", run: tinyFragments },
  "empty-fragments": { description: "the same in empty fragments", run: emptyFragments },
  pings: { description: "20 WebSockets that send pings as fast as they can", run: pings },
  "held-frames": { description: "50 frames of 30 MiB that never end", run: heldFrames },
  "half-frames": {
    description: "1,000 packets with a whole frame and the beginning of a second one",
    run: halfFrames,
  },
  "one-connection": {
    description: "200,000 requests or frames of each of 22 kinds, on one connection for each kind",
    run: oneConnection,
  },
  lists: { description: "300 connections that list 100 submissions again and again", run: lists },
  "many-lists": { description: "the same on 1,500 connections", run: manyLists },
  reads: { description: "300 connections that read records, policy and descriptions, and check", run: reads },
  watches: { description: "100 WebSockets that watch 100 submissions again and again", run: watches },
  refusals: { description: "300 connections of a key whose requests are all refused", run: refusals },
  "reused-keys": { description: "20 connections that reuse one Idempotency-Key", run: reusedKeys },
  "without-key": { description: "300 connections that send requests without a key", run: requestsWithoutKey },
};
