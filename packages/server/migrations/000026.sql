-- Number 20 made the table of outcomes a partition, `finished_first`, of a new table with its name. Rights that were granted on
-- the old table are granted on the new one too, unless somebody has granted rights on that since.
do $$
declare
  held record;
begin
  if (select relacl is not null from pg_class where oid = 'finished'::regclass) then
    return;
  end if;
  for held in
    select privilege_type, is_grantable, case when grantee = 0 then 'public' else grantee::regrole::text end as grantee
    from pg_class, aclexplode(relacl)
    where oid = to_regclass('finished_first') and grantee <> relowner
  loop
    execute format('grant %s on finished to %s%s', held.privilege_type, held.grantee,
                   case when held.is_grantable then ' with grant option' else '' end);
  end loop;
end $$;
