-- Wrappers whose submissions were queued again or failed. If one of them lands after all, its waiver's nonce was used
-- by us and not by somebody else with the same key.
create table withdrawn (
  chain        integer not null references chains,
  waiver       bytea   not null,
  waiver_nonce bigint  not null,
  wrapper_hash bytea   not null,
  primary key (chain, waiver, waiver_nonce, wrapper_hash)
);
