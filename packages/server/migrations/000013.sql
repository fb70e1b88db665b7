-- The replicas that are alive, each with the waivers whose accounts it has, so that the lanes can be spread over them.
create table replicas (
  chain       integer     not null,
  id          uuid        not null,
  waivers     bytea[]     not null,
  alive_until timestamptz not null,
  primary key (chain, id)
);

-- The replica to which the owner has handed the lane, and the time until which nobody else may take it.
alter table lanes add column reserved_for uuid, add column reserved_until timestamptz not null default '-infinity';
