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
  pipelinedKinds,
  reads,
  refusals,
  requestsWithoutKey,
  reusedKeys,
  watches,
} from "./floods.mjs";
import { emptyFragments, endlessFragments, heldFrames, pings, tinyFragments } from "./sockets.mjs";

/** The attacks by name. */
export const ATTACKS = {
  none: { what: "no attack, for comparison", run: async () => {} },
  "idle-sockets": { what: "5,000 WebSockets that ask for nothing", run: idleSockets },
  "slow-readers": { what: "1,000 connections that send requests and read no answer", run: slowReaders },
  silent: { what: "2,000 connections that send nothing", run: silent },
  "endless-heads": { what: "1,000 request heads that never end", run: endlessHeads },
  "slow-bodies": { what: "1,000 bodies that come a byte at a time", run: slowBodies },
  "bad-keys": { what: "100,000 unknown keys a minute", run: badKeys },
  strangers: {
    what: "50 bodies of 33 MB and more with an unknown key, to an unknown path",
    run: bodiesWithUnknownKey,
  },
  "tiny-chunks": { what: "4 endless bodies in chunks of one byte", run: tinyChunks },
  "held-bodies": { what: "50 bodies of 32 MiB that never end", run: heldBodies },
  "largest-batches": { what: "batches of 26 MB with the largest transactions", run: largestBatches },
  "strange-json": {
    what: "JSON that is deep or wide, or has repeated keys, __proto__, lone surrogates or huge numbers",
    run: strangeJson,
  },
  "endless-fragments": { what: "20 WebSockets with a message that never ends", run: endlessFragments },
  "tiny-fragments": { what: "the same in fragments of one byte", run: tinyFragments },
  "empty-fragments": { what: "the same in empty fragments", run: emptyFragments },
  pings: { what: "20 WebSockets that send pings as fast as they can", run: pings },
  "held-frames": { what: "50 frames of 30 MiB that never end", run: heldFrames },
  "half-frames": {
    what: "1,000 packets with a whole frame and the beginning of a second one",
    run: halfFrames,
  },
  "one-connection": {
    what: "200,000 requests of each kind, pipelined, on one connection for each kind",
    run: pipelinedKinds,
  },
  lists: { what: "300 connections that list 100 submissions again and again", run: lists },
  "many-lists": { what: "the same on 1,500 connections", run: manyLists },
  reads: { what: "300 connections that read records, policy and descriptions, and check", run: reads },
  watches: { what: "100 WebSockets that watch 100 submissions again and again", run: watches },
  refusals: { what: "300 connections of a key whose requests are all refused", run: refusals },
  "reused-keys": { what: "20 connections that reuse one Idempotency-Key", run: reusedKeys },
  "without-key": { what: "300 connections that send requests without a key", run: requestsWithoutKey },
};
