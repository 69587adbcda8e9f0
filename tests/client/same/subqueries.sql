-- Statements, one a line, run by sql_test.py; what follows a '|' is DuckDB's way to say it.
-- scalars without an aggregate
select id, (select name from p where p.k = 1) from o
select id, (select name from p where p.k = 100) from o
select id, (select v from n where v = 20) + id from o
select id, (select max(name) from p where p.id = o.id), (select name from p where p.id = o.id and p.k is null) from o
select id, (select city from o y where y.id = o.id) from o
select id, (select city from o y where y.id = o.id + 1) from o where (select amount from o y where y.id = o.id) is not null
select id, (select distinct city from o y where y.city = o.city) from o
select id, (select amount from o y where y.city = o.city order by amount desc nulls last limit 1) from o
select id, (select y.id from o y where y.amount > o.amount order by y.amount, y.id limit 1) from o
select id, (select y.id from o y where y.id <> o.id order by y.id limit 1 offset 1) from o
select id, (select o.id + 1), (select o.city where o.id > 2) from o
select id, (select k from n where n.k = o.id group by k) from o
-- tied by more than equalities
select id, (select count(*) from o y where y.amount > o.amount) from o
select id, (select sum(y.amount) from o y where y.id <= o.id and y.city is not null) from o
select id, (select max(n.v + o.id) from n where n.k = o.id) from o
select id, (select count(*) from n where n.k = o.id or n.v = 10) from o
select id, (select count(*) + o.id from n where n.k > o.id) from o
select id from o where amount > (select avg(amount) from o y where y.id <> o.id)
select id, (select count(*) from (select k from n where n.v > 5) t where t.k < o.id) from o
select id, (select sum(c) from (select k, count(*) c from n group by k) t where t.k <> o.id) from o
select id, (select string_agg(name, ',' order by name) from p where p.id >= o.id) from o
select id, (select count(*) from n where n.k = o.id union all select 5 where o.id > 100) from o
select city, sum(amount), (select count(*) from p where p.name > o.city) from o group by city
select city, count(*) from o group by city having count(*) > (select count(*) from p where p.name > o.city and p.k is not null) - 2
-- two levels up
select id, (select count(*) from p where exists (select 1 from n where n.k = p.k and n.v > o.amount)) from o
select id, (select count(*) from p where p.id = o.id and p.id in (select k from n where n.v > o.amount)) from o
select id from o where exists (select 1 from p where p.id = o.id and exists (select 1 from n where n.k = o.id and n.k = p.id))
select id from o where exists (select 1 from p where p.k > (select min(k) from n where n.v <> o.id))
select id, (select max(k) from p where p.k < (select count(*) from n where n.k >= o.id)) from o
-- conditions within a domain
select id from o where exists (select k from n where n.k = o.id group by k having count(*) > 1)
select id from o where not exists (select k from n where n.k <= o.id group by k having count(*) > 1)
select id from o where id in (select k from n where n.v > o.amount group by k)
select id from o where id not in (select k from n where n.v > o.amount group by k)
select id from o where id in (select max(k) from n where n.k <= o.id)
select id, id in (select max(k) from n where n.k <= o.id) from o
select id, id not in (select k from n where n.v > o.amount group by k) from o
select id, exists (select k from n where n.k = o.id group by k having count(*) > 1) from o
select id from o where id in (select k from n where n.k = o.id union all select p.id from p where p.k = o.id)
select id from o where id in (select k from n where k < o.id + 1 intersect select p.id from p where p.k <> o.amount)
select id from o where id = any (select k from n where v > o.amount group by k)
select id from o where id > all (select k from n where v > o.amount group by k)
select id from o where (id, amount) in (select k, max(v) / 4 from n where n.k >= o.id group by k)|select id from o where exists (select k from n where n.k >= o.id group by k having k = o.id and max(v) // 4 = o.amount)
-- ANY and ALL as values
select id, id > any (select k from n), id > any (select k from n where k is not null), id > any (select k from empty) from o
select id, id > all (select k from n), id >= all (select k from n where k is not null), id > all (select k from empty) from o
select id, id <> all (select k from n), id = all (select k from n where k = o.id), id = some (select k from n where k is not null) from o
select id, id < any (select k from n where n.k = o.id + 1), not (id < any (select v from n where n.k = o.id)) from o
select id, amount <= all (select y.amount from o y where y.city = o.city and y.amount is not null) from o
select id, id < any (select k from n group by k), id <= all (select max(id) from p union all select 7) from o
select id from o where id > any (select k from n) or city = 'Rome'
-- in ON
select o.id, p.name from o join p on o.id = p.id and o.id in (select k from n)
select o.id, p.name from o join p on o.id = p.id and exists (select 1 from n where n.k = o.id and n.v > p.k)
select o.id, p.name from o join p on p.k = (select min(v) / 10 from n) and o.id = 1
select o.id, p.name from o left join p on o.id = p.id and p.id in (select k from n where v is not null)
select o.id, p.name from o right join p on o.id = p.id and o.id in (select n.k from n where n.v is not null)
-- joins with a name
select j.id, j.name, j.amount from (o join p using (id)) j
select j.a, j.e, j.name from (o join (select id as x, name from p) q on o.id = q.x) as j(a, b, c, d, e) |select o.id, q.x, q.name from o join (select id as x, name from p) q on o.id = q.x
select count(*) from (o cross join p) as j
-- LATERAL
select o.id, t.c from o, lateral (select count(*) c from n where n.k = o.id) t
select o.id, t.v from o, lateral (select v from n where n.k = o.id) t
select o.id, t.v from o cross join lateral (select v, k from n where n.k < o.id and v > 5) t
select o.id, t.v from o left join lateral (select v from n where n.k = o.id) t on true
select o.id, t.v from o left join lateral (select v from n where n.k = o.id) t on t.v > 10
select o.id, t.m from o join lateral (select max(v) m from n where n.k <= o.id) t on t.m > o.amount
select o.id, t.name from o, lateral (select name from p where p.id >= o.id order by name limit 2) t
select o.id, t.name, t.r from o left join lateral (select name, p.k * 2 r from p where p.id <> o.id order by p.id, name limit 1 offset 1) t on true
select o.id, t.x, u.y from o, lateral (select o.id + 1 as x) t, lateral (select t.x * 2 as y) u
select o.id, p.name, t.c from o join p on o.id = p.id, lateral (select count(*) c from n where n.k between o.id and p.k) t
select o.id, t.k, t.s from o, lateral (select k, sum(v) s from n where n.k <> o.id group by k) t
select o.id, t.d from o, lateral (select distinct v > o.amount as d from n) t
select t.x from o, lateral (select 7 as x) t where o.id = 1
select id, (select sum(t.c) from p, lateral (select count(*) c from n where n.k = p.id and n.v > o.amount) t) from o
-- WITH, VALUES, FETCH
with t as (select k, sum(v) s from n group by k) select a.k, b.s from t a join t b on a.k = b.k where a.s > (select avg(s) from t)
with t(x) as (values (1), (2)), u as (select x + 1 as y from t) select * from t, u, t z where z.x = u.y and exists (select 1 from u w where w.y = t.x)
values (1, 'a'), (2, null), (null, 'c')
select id from o where id in (values (1), (3))
select * from o join (values (1, 'x'), (2, 'y')) v(id, s) using (id)
select id from o order by id fetch first 2 rows only
select id from o order by id desc offset 1 rows fetch next row only
-- windows, DISTINCT ON and ALL within a domain
select o.id, t.v, t.r from o, lateral (select v, row_number() over (order by v, k) r from n where n.k >= o.id) t
select o.id, t.k, t.v from o, lateral (select distinct on (k) k, v from n where n.k >= o.id order by k, v) t
select id from o where id in (select k from n where n.v > o.amount except all select 2)
select id from o where exists (select distinct v from n where v > o.id limit 1)
select id, (select distinct y.city from o y where y.id <> o.id order by y.city limit 1) from o
select id, (select distinct y.city from o y where y.id <> o.id order by y.city limit 1 offset 1) from o
select o.id, t.v from o, lateral (select distinct v from n where v > o.id order by v desc limit 2) t
select id from o where id in (select row_number() over (order by v, k) from n where n.v > o.amount)
select id, id in (select rank() over (order by k) from n where n.k <= o.id) from o
select * from (select city, id from o order by city nulls last fetch first 3 rows with ties) t | select city, id from o qualify rank() over (order by city nulls last) <= 3
select * from (select k, v from n order by k fetch first 1 row with ties) t | select k, v from n qualify rank() over (order by k) <= 1
select k, v from n order by k desc nulls last, v offset 1 fetch next 2 rows with ties | select k, v from n qualify rank() over (order by k desc nulls last, v) <= 3 and row_number() over (order by k desc nulls last, v) > 1
select * from (select k, count(*) c from n group by k order by 2 desc fetch first 1 rows with ties) t | select k, c from (select k, count(*) c from n group by k) qualify rank() over (order by c desc) <= 1
select distinct k from n order by k desc nulls last fetch first 2 rows with ties | select distinct k from n order by k desc nulls last limit 2
select k from n union all select id from o order by 1 fetch first 2 rows with ties | select * from (select k from n union all select id from o) t qualify rank() over (order by k) <= 2
select id from o order by id fetch first 0 rows with ties | select id from o limit 0
select id from o order by id offset 3 fetch first 100 rows with ties | select id from o order by id offset 3
select o.id, t.k from o, lateral (select k from n where n.k < o.id order by k desc fetch first 1 row with ties) t | select o.id, t.k from o, lateral (select k, rank() over (order by k desc) r from n where n.k < o.id) t where t.r <= 1
select id from o where (select k from n where n.k < o.id order by v fetch first 1 row with ties) = 1 | select id from o where id > 1
select j.k, n.v, p.name from n join p using (k) as j | select k, n.v, p.name from n join p using (k)
select j.*, p.name from n full join p using (k) as j | select k, p.name from n full join p using (k)
select k, count(*) from n left join p using (k) as j group by j.k having j.k > 1 | select k, count(*) from n left join p using (k) group by k having k > 1
select * from n join p using (k) as j where j.k = 2 and n.k = 2 and p.k = 2 | select * from n join p using (k) where k = 2
