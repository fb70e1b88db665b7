-- Requests that came under an Idempotency-Key, and what became of each of their transactions (D18).
create table keyed_requests (
  chain       integer     not null,
  key_id      text        not null,
  -- SHA-256: of what the client called it, and of its transactions.
  name_hash   bytea       not null check (octet_length(name_hash) = 32),
  body_hash   bytea       not null check (octet_length(body_hash) = 32),
  -- One for each transaction, given when the request came: its submission's, or that of its refused line. The same
  -- transaction may have been a submission before; then it is that one's.
  ids         uuid[]      not null,
  -- So many of the first are decided; the others are under way, or were when the service died.
  decided     integer     not null default 0,
  -- Why those were refused that were, by position: {"0": ["NON_ZERO_GAS_PRICE", "the gas price is 1, not 0"]}.
  refusals    jsonb       not null default '{}',
  created_at  timestamptz not null default now(),
  primary key (chain, key_id, name_hash),
  check (decided between 0 and cardinality(ids))
);
create index keyed_requests_by_age on keyed_requests (created_at);
