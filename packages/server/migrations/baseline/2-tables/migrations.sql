-- The numbers of the schema that this store has had: the one of the program that made it, and one for each migration since.
create table migrations (
  number     integer     primary key,
  applied_at timestamptz not null default now()
);
