-- An InnerTx that another key submits again is the same submission (D18): that key may ask for it as well.
create table readers (
  submission uuid not null,
  key_id     text not null,
  primary key (submission, key_id)
);
