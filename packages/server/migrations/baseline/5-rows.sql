-- The first partition takes all ids until today: the clock of a replica that makes ids may be late.
insert into finished_range (first_id, end_id) values (first_id_of('1970-01-01'), first_id_of('1970-01-01'));
select create_finished_partition('1970-01-01', (now() at time zone 'UTC')::date - 1);
