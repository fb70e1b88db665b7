-- Requests with an Idempotency-Key, and the outcomes of their transactions (D18).
create table keyed_requests (
  chain       integer     not null,
  key_id      text        not null,
  -- SHA-256 of the Idempotency-Key, and SHA-256 of the transactions.
  name_hash   bytea       not null check (octet_length(name_hash) = 32),
  body_hash   bytea       not null check (octet_length(body_hash) = 32),
  -- One id for each transaction: of its submission, or of its refused line. If the transaction was a submission before,
  -- it is the id of that submission.
  ids         uuid[]      not null,
  -- The number of transactions, from the first on, that are decided.
  decided     integer     not null default 0,
  -- The refusals, keyed by position: {"0": ["NON_ZERO_GAS_PRICE", "the gas price is 1, not 0"]}.
  refusals    jsonb       not null default '{}',
  created_at  timestamptz not null default now(),
  primary key (chain, key_id, name_hash),
  check (decided between 0 and cardinality(ids))
);
create index keyed_requests_by_age on keyed_requests (created_at);

-- The API keys that submitted the InnerTx of another key's submission again (D18). They may read its record, too.
create table readers (
  submission uuid not null,
  key_id     text not null,
  primary key (submission, key_id)
);
