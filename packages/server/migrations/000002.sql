-- The withdrawn wrappers: their submissions were queued again or failed. If such a wrapper lands after all, this service
-- has used the waiver's nonce, and nothing else that has the key.
create table withdrawn (
  chain        integer not null references chains,
  waiver       bytea   not null,
  waiver_nonce bigint  not null,
  wrapper_hash bytea   not null,
  primary key (chain, waiver, waiver_nonce, wrapper_hash)
);
