-- The API keys that submitted the InnerTx of another key's submission again (D18). They may read its record, too.
create table readers (
  submission uuid not null,
  key_id     text not null,
  primary key (submission, key_id)
);
