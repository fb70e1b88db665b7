-- One lane for each waiver key. The replica that holds the lease may write the lane's rows. The epoch goes up each time the owner
-- changes, and guards every write of the lane: it is a key of the row, so a change of owner waits for the writes that hold the
-- row "for key share", and a renewal of the lease does not. All times are by the database's clock.
create table lanes (
  chain            integer     not null references chains,
  waiver           bytea       not null check (octet_length(waiver) = 20),
  state            lane_state  not null default 'open',
  -- The reason why the lane is stopped, or why its breaker is open.
  reason           text,
  -- The end of the time in which the breaker keeps new work away.
  broken_until     timestamptz not null default '-infinity',
  -- What the lane waits for, and since when; null where the lane goes on.
  waits_cause      text,
  waits_for        text,
  waits_since      timestamptz,
  owner            uuid,
  epoch            bigint      not null default 0,
  lease_until      timestamptz not null default '-infinity',
  -- The number of its nonces that the chain has used for wrappers of something else.
  foreign_uses     integer     not null default 0,
  -- True while the lease belongs to a replica that only follows the lane's wrappers on the chain, because none signs for it.
  watch_only       boolean     not null default false,
  -- The replica to which the owner has handed the lane, and the time until which nobody else may take it.
  reserved_for     uuid,
  reserved_until   timestamptz not null default '-infinity',
  -- The time of the last foreign use. Uses that lie far apart do not add up.
  foreign_use_at   timestamptz not null default '-infinity',
  -- Each nonce of the waiver below is accounted for: the chain has used it for a wrapper of the lane, or for a transaction that was
  -- counted as a foreign use. Null until the lane has first looked: what the waiver sent before it was in this store is no such use.
  known_below      bigint,
  -- The highest waiver nonce of the lane among the summarized days of outcomes, and its block.
  old_nonce        bigint,
  old_block_number bigint,
  old_block_hash   bytea,
  -- No unfinished submission of the lane has a waiver nonce below this one (raise_nonce_floor). All that reads the nonces of a
  -- lane begins here: below may be the dead entries of all that the lane has finished since the oldest transaction began.
  nonce_floor      bigint      not null default 0,
  primary key (chain, waiver),
  unique (chain, waiver, epoch)
);

-- The replicas that are alive, each with the waivers whose accounts it has, so that the lanes can be spread over them.
create table replicas (
  chain       integer     not null,
  id          uuid        not null,
  waivers     bytea[]     not null,
  alive_until timestamptz not null,
  primary key (chain, id)
);

-- The withdrawn wrappers: their submissions were queued again or failed. If such a wrapper lands after all, this service has
-- used the waiver's nonce, and nothing else that has the key. Also here, so that each is taken for what it is once: an operator's
-- transactions that pay for a nonce, and the foreign uses that were counted.
create table withdrawn (
  chain        integer not null references chains,
  waiver       bytea   not null,
  waiver_nonce bigint  not null,
  wrapper_hash bytea   not null,
  -- The submission whose wrapper may still land: it must not be failed before a final block shows the wrapper's nonce used by
  -- another transaction (D28). Null once that is shown, and for a wrapper that no node has taken.
  open_for     uuid,
  -- No wrapper of the submission is in a block before this one (unfinished.since_block).
  since_block  bigint,
  primary key (chain, waiver, waiver_nonce, wrapper_hash)
);
create index withdrawn_open on withdrawn (open_for) where open_for is not null;
