create view refusals as
select id, key_id, record from refusals_0
union all
select id, key_id, record from refusals_1
union all
select id, key_id, record from refusals_2;
