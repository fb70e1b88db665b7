-- The submission whose wrapper may still land: it must not be failed before a final block shows the wrapper's nonce used
-- by another transaction (D28). Null once that is shown, and for a wrapper that no node has taken.
alter table withdrawn add column open_for uuid;
create index withdrawn_open on withdrawn (open_for) where open_for is not null;
