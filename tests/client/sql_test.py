"""Goal:   morsel sql gives DuckDB's answers for every construct it takes, refuses the others by name and place,
        embedded and through a server.
Method: the same statement to both, on small files with NULLs and on nycflights13; rows are compared as values,
        in order where the statement has an ORDER BY at its end.
Usage:  sql_test.py MORSEL MORSELD [unittest arguments]"""
import csv, datetime, decimal, gzip, io, math, os, pathlib, re, signal, subprocess, sys, tempfile, time, unittest
import duckdb, pyarrow.ipc

MORSEL, MORSELD = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOW = 8 if any(name in str(MORSEL) for name in ("asan", "tsan")) else 1
FLIGHTS = ROOT / "data/nycflights13"

FILES = {
    "o": "id,city,amount,day\n1,Rome,1.5,2020-01-31\n2,Oslo,2.5,2020-02-29\n3,Rome,,2021-03-01\n4,,7,\n5,Oslo,-1,1969-12-31\n",
    "p": "id,name,k\n1,Ada,1\n2,\"Kurt, G.\",\n2,Alan,2\n9,Emmy,7\n,Noname,3\n",
    "n": "k,v\n1,10\n1,\n2,20\n,30\n3,\n3,\n,\n",
    "empty": "k,v\n",
    "w": "a,b,c\n1,1,x\n1,2,y\n2,1,x\n2,2,\n3,,z\n",
}
TYPES = ["o=day:date32;amount:float64", "p=id:int64;k:int64;name:utf8", "n=k:int64;v:int64", "empty=k:int64;v:int64",
         "w=a:int64;b:int64;c:utf8"]
DUCK_TYPES = {"o": "{'id':'BIGINT','city':'VARCHAR','amount':'DOUBLE','day':'DATE'}",
              "p": "{'id':'BIGINT','name':'VARCHAR','k':'BIGINT'}", "n": "{'k':'BIGINT','v':'BIGINT'}",
              "empty": "{'k':'BIGINT','v':'BIGINT'}", "w": "{'a':'BIGINT','b':'BIGINT','c':'VARCHAR'}"}

# One a construct and more; what follows a '|' replaces the statement for DuckDB where the dialects differ.
SAME = """
select * from o
select o.* from o where amount > 1 order by id
select id + 1 as a, amount * 2, -amount, id % 2 from o order by id
select o.id x, t.k from o, n t where o.id = t.k
select city c, count(*) from o group by city
select city as c, count(*) n from o group by c order by n desc, c nulls first
select id % 2, sum(amount), count(amount), min(day), max(city), avg(amount) from o group by 1 order by 1
select upper(city) u, count(*) + 1 from o group by upper(city) having count(*) > 1 order by 1
select count(*), sum(k), min(v), avg(v) from empty
select k, sum(v) from empty group by k
select sum(amount) / count(*) from o where city = 'Rome'
select k, count(distinct v), count(*), sum(v) from n group by k
select a, b, count(*), sum(a), grouping(a, b), grouping(b) from w group by rollup(a, b) order by grouping(a, b), a, b
select a, b, c, count(*), median(b), string_agg(c, '' order by c), grouping(c, a) from w group by cube(a, b, c)
select k, v, count(*), min(v), grouping(k), grouping(v) from n group by grouping sets ((k, v), (k), (v), ())
select k, count(distinct v), sum(distinct v), avg(v) from n group by rollup(k)
select k, count(*), sum(v) from empty group by rollup(k)
select count(*), grouping(k) from empty group by grouping sets ((k), (), ())
select a, b, count(*) from w group by a, rollup(b)
select a, b, c, count(*) from w group by rollup(a, b), cube(c)
select a, b, c, count(*) from w group by rollup((a, b), c)
select a, b, count(*) from w group by grouping sets (rollup(a), cube(b), (a, b))
select a + b as s, c, count(*), grouping(a + b) from w group by rollup(s, 2)
select upper(c) u, max(a) from w group by cube(1) having grouping(upper(c)) = 1 or max(a) > 1
select a, b, count(*) from w group by grouping sets ((a, b), (a), (a)) | select a, b, count(*) from w group by grouping sets ((a, b), (a)) union all select a, null, count(*) from w group by a
select count(*) from w group by ()
select t.a, t.n, w.c from (select a, count(*) n from w group by rollup(a)) t left join w on w.a = t.a and w.b = 1
select case when grouping(a) = 1 then 'all' else a::varchar end k, sum(b) from w group by rollup(a) order by 1
select string_agg(city, ',' order by id) from o
select string_agg(distinct city, ';' order by city desc) from o
select city, median(amount), quantile_cont(amount, 0.25), quantile_disc(id, 0.5) from o group by city
select percentile_cont(0.5) within group (order by amount), percentile_disc(0.3) within group (order by id) from o
select mode(c), mode() within group (order by c) from w
select histogram(city), histogram(id), histogram(distinct city) filter (where id > 1), histogram(day) from o | select histogram(city)::varchar, histogram(id)::varchar, histogram(distinct city) filter (where id > 1)::varchar, histogram(day)::varchar from o
select k, histogram(v) from n group by k | select k, histogram(v)::varchar from n group by k
select histogram(k) from empty
select percentile_cont(0.25) within group (order by amount desc), percentile_disc(0.25) within group (order by amount desc), percentile_disc(0.75) within group (order by id desc) from o
select a, percentile_disc(0.4) within group (order by b desc) from w group by a
select mode() within group (order by k desc) from n where k < 4 and v is not null
select min(day), max(day), min(city), max(city), min(amount > 1), max(amount > 1) from o
select count(distinct city) filter (where id > 1), string_agg(distinct city, '+' order by city) filter (where id < 4), bit_or(distinct id), corr(id, amount) filter (where id > 1) from o
select first(city order by amount desc nulls last), last(city order by id), any_value(city order by id) from o
select arg_min(city, amount), max_by(id, amount) from o
select bool_and(amount > 0), bool_or(id > 4), every(id > 0) from o | select bool_and(amount > 0), bool_or(id > 4), bool_and(id > 0) from o
select bit_and(id), bit_or(id), bit_xor(id) from o
select var_pop(amount), stddev_pop(amount), corr(id, amount), covar_samp(id, amount) from o
select approx_count_distinct(city), approx_count_distinct(amount) from o
select sum(distinct v) filter (where k < 3), avg(distinct v), median(distinct v) from n
select count(distinct k), sum(distinct k), min(v) from n
select count(distinct k) from empty
select k, count(*) filter (where v > 10) from n group by k
select k from n order by k desc, v nulls first
select k, v from n order by k nulls first, v desc
select v, k from n order by 2 desc nulls last, 1 limit 3
select k, v from n order by v limit 2 offset 1
select id, amount from o order by amount + id, id
select distinct k from n
select distinct k, v from n order by k, v
select distinct city from o order by city desc limit 2
select case when amount > 2 then 'big' when amount is null then null else 'small' end s, id from o
select case city when 'Rome' then 1 when 'Oslo' then 2 end, id from o
select coalesce(amount, id), nullif(city, 'Rome') from o
select id from o where city in ('Rome', 'Bonn')
select id from o where city not in ('Rome', 'Bonn')
select id from o where id in (1, 2, 2 + 1)
select id from o where amount between 1.5 and 2.5
select id from o where amount not between 1.5 and 2.5
select id from o where city is null or amount is not null
select id from o where not (city = 'Rome' and amount > 1)
select id from o where (city = 'Rome') is not true
select id from o where city like '%o%' and city not like 'R%'
select id from o where city ilike 'r_me'
select cast(id as varchar) || 'x', id::double / 2, cast(amount as integer) from o where amount <> 2.5
select cast('12.345' as decimal(10,2)), cast('2020-02-30' as varchar)
select date '2020-01-31' + interval '1 month', day + 1, extract(year from day), extract(dow from day) from o
select id from o where day >= '2020-02-01' and day < date '2020-02-01' + interval '1' year
select id from o where day in ('2020-01-31', '1969-12-31')
select date_trunc('month', day), day - date '2020-01-01' from o
select greatest(amount, id), least(amount, 3), concat(city, '!', id::varchar) from o
select length(city), lower(city), substring(city from 2 for 2), abs(amount), round(amount), floor(amount), ceil(amount) from o
select city, var_pop(amount), stddev_samp(amount), covar_pop(id, amount) from o group by city
select city, var_pop(amount), stddev_samp(amount), corr(id, amount) from o group by city | select city, var_pop(amount), stddev_samp(amount), nullif(corr(id, amount), 'nan'::double) from o group by city
select sqrt(16), power(2, 10), exp(0), ln(1)
select 1, 'a', true, 0.1 + 0.2, 0.06 + 0.01
select 1 as x where 1 = 2
with t as (select id, city from o where id < 4), u as (select * from t where id > 1) select u.id, t.city from u join t on u.id = t.id
with t(a, b) as (select id, city from o) select a, b from t where b is not null
select * from (values (1, 'a'), (2, null), (3, 'c')) as t(x, y) order by x
select x + 1 from (select id as x from o) t where x > 2
select t.x, count(*) from (select distinct city as x, amount from o) t group by t.x
select o.id, p.name from o join p on o.id = p.id
select o.id, p.name from o left join p on o.id = p.id
select o.id, p.name from o right join p on o.id = p.id
select o.id, p.name from o full join p on o.id = p.id
select o.id, p.name from o left join p on o.id = p.id and p.k is not null
select o.id, p.name from o left join p on o.id = p.id and o.amount > 2
select o.id, p.name, p.k from o full join p on o.id = p.id and o.amount > p.k
select o.id, p.id from o join p on o.id = p.id and o.id + p.k > 2
select o.id, p.id from o join p on o.id < p.id
select o.id, p.id from o left join p on o.id < p.id and p.k > 2
select o.id, p.id from o cross join p
select count(*) from o, p, n
select * from o join p using (id)
select * from o left join p using (id)
select id, name from o right join p using (id)
select id, city, name from o full join p using (id)
select id, o.id, p.id from o full join p using (id)
select * from o natural join p
select * from w natural join (select a, c, 7 as z from w) t|select a, c, b, z from w natural join (select a, c, 7 as z from w) t
select x.id, y.id from o x join o y on x.city = y.city and x.id < y.id
select a.id, b.name, c.v from o a, p b, n c where a.id = b.id and b.k = c.k
select a.id, c.v from n c, o a, p b where a.id = b.id and b.k = c.k and a.amount > 0
select o.id, n.v from o, n where (o.id = n.k and n.v > 5) or (o.id = n.k and o.city = 'Rome')
select o.id from o, p where o.id = p.id and (o.amount > 2 or p.k = 1)
select o.id, p.name, n.v from o left join p on o.id = p.id left join n on p.k = n.k
select o.id, t.s from o left join (select k, sum(v) s from n group by k) t on o.id = t.k
select x.a, y.b from w x join w y on x.a = y.a and x.b = y.b
select x.k, y.v from n x join n y on x.k = y.k and x.v = y.v
select x.k, y.k from n x join n y on x.k is not distinct from y.k
select id from o where id in (select k from n)
select id from o where id not in (select k from n)
select id from o where id not in (select k from n where k is not null)
select id from o where id not in (select k from empty)
select id from o where city in (select city from o group by city having count(*) > 1)
select id from o where exists (select 1 from p where p.id = o.id)
select id from o where not exists (select * from p where p.id = o.id)
select id from o where exists (select 1 from p where p.id = o.id and p.k > o.amount)
select id from o where not exists (select 1 from p where p.id = o.id and p.k > o.amount)
select id from o where exists (select 1 from p where p.k > o.id)
select id from o where exists (select 1 from empty)
select id from o where not exists (select 1 from n where v > 25)
select id from o where id in (select k from n where n.v > o.amount)
select id from o where id not in (select k from n where n.v > o.amount)
select a from w where (a, b) in (select k, v / 10 from n)|select a from w where (a, b) in (select k, v // 10 from n)
select id, id in (select k from n) from o
select id, id not in (select k from n where k is not null) from o
select id, exists (select 1 from p where p.id = o.id) from o
select id from o where id in (select k from n) or city = 'Oslo'
select id, (select max(v) from n) from o
select id, (select count(*) from n where n.k = o.id) from o
select id, (select sum(v) from n where n.k = o.id) from o
select id, (select coalesce(sum(v), 0) + 1 from n where n.k = o.id) from o
select id from o where amount > (select avg(amount) from o)
select x.id from o x where x.amount >= (select max(y.amount) from o y where y.city = x.city)
select city, sum(amount) from o group by city having sum(amount) > (select min(v) / 10 from n)
select id, (select v from n order by v limit 1) from o
select (select count(*) from o) - (select count(*) from p)
select id from o union all select k from n
select id, city from o union all select k, null::varchar from n
select id from o union select k from n
select city from o union select name from p order by 1
select k from n intersect select id from o
select k from n except select id from o
select a, b from w except select k, v from n
(select id from o order by id limit 2) union all (select id from o order by id desc limit 1)
select id x from o union all select 100 order by x desc limit 3
select count(*) from (select 1 from n union all select 2 from o) t
select city, count(*) from o where id in (select id from p) group by city
select c, count(*) from w group by c having c is not null and c <> 'y'
select a + 1, a + 1 + count(*) from w group by a + 1
select max(a) from w where b = (select min(b) from w)
select "id" from o as "O" where "O"."id" = 1
select id is distinct from 1, amount is not distinct from null::double from o
select count(*) from o where true
select count(*) from o where null::boolean
select id from o where exists (select 1 from p, n where p.k = n.k and p.id = o.id)
select id from o where id = any (select id from p)
select id from o where id <> all (select id from p where id is not null)
select day > '2020-01-01', count(*) from o group by day > '2020-01-01'
select 7 from o having count(*) > 1
select 7 from o having true
select id from o where id not in (select k from n where n.v > o.amount and n.k = o.id)
select id from o where id > any (select k from n)
select id from o where not (id > any (select k from n))
select id from o where id >= all (select k from n where k is not null)
select id from o where id >= all (select k from n)
select id from o where not (id >= all (select k from n))
select id from o where id < all (select k from n where n.v > o.amount)
select id from o where amount >= all (select amount from o where amount is not null)
select a, b from w where (a, b) not in (select k, v / 10 from n)|select a, b from w where (a, b) not in (select k, v // 10 from n)
select a, (a, b) in (select k, v / 10 from n) from w|select a, (a, b) in (select k, v // 10 from n) from w
select id, id in (select k from n where n.v > o.amount) from o
select id, id in (select k + 1 from n where n.k = o.id or n.k is null) from o
select count(distinct id), avg(id), count(distinct city) from o
select city, count(distinct id) filter (where id > 1), sum(distinct id) from o group by city
select min(x) from (select id % 2 as x, max(amount) as m from o group by id % 2) t where m > 0
select id, row_number() over (order by id desc) from o
select k, v, rank() over (partition by k order by v), dense_rank() over (partition by k order by v) from n
select id, rank() over w, dense_rank() over (w order by id) + 1, row_number() over (order by amount, id) from o window w as (partition by city)
select k, v, rank() over (order by k desc nulls last, v), rank() over (order by k nulls first) from n
select k, v, rank() over (), dense_rank() over (partition by v) from n
select id from (select id, row_number() over (partition by city order by amount desc nulls last, id) r from o) t where r <= 1
select k, v from (select *, rank() over (partition by k order by v) r from n) t where r < 2
select k, v from (select *, dense_rank() over (order by k desc) r from n) t where 2 >= r and k > 1
select k, v, r from (select *, rank() over (partition by k order by v nulls first) r from n) t where r = 2
select k, v from (select *, row_number() over (partition by k, v) r from n) t where r > 1
select city, count(*), rank() over (order by count(*) desc), dense_rank() over (order by sum(amount)) from o group by city
select city, rank() over (partition by count(*) order by city) r from o group by city having count(*) > 1 order by r desc, city
select id from o order by row_number() over (order by city nulls first, id desc)
select id, amount * rank() over (order by amount) as x from o order by x nulls first, id
select count(*) from (select rank() over (order by id) from empty, o) t
select upper(city), rank() over (partition by upper(city) order by extract(year from day)) from o
select x.r, p.name from (select id, row_number() over (order by id desc) r from o) x join p on p.id = x.r
select distinct rank() over (order by city) from o
select distinct on (city) city, id from o order by city, id desc
select distinct on (city) city, id, amount from o order by city nulls first, amount desc nulls last, id limit 2
select distinct on (k, v) k, v from n
select distinct on (c) k as c, v from n order by c, v desc nulls last
select distinct on (city) city, count(*) from o group by city, id order by city
select k from n intersect all select id from o
select k from n except all select id from o
select k, v from n except all (select k, v from n where v is null limit 2)
select k from n intersect all (select k from n where k is null or k = 3 union all select 3)
select k from n except all select k from n
select k from empty except all select id from o
""".strip().splitlines()

ON_FLIGHTS = """
select carrier, count(*) n, avg(arr_delay) from flights group by carrier order by n desc, carrier
select origin, month, sum(distance), min(dep_delay), max(air_time) from flights where distance > 1000 group by 1, 2
select a.name, count(*) from flights f join airlines a using (carrier) group by a.name
select dest, count(*) c from flights where dest not in (select faa from airports) group by dest
select count(*) from flights f where exists (select 1 from planes p where p.tailnum = f.tailnum and p.year < 1990)
select p.manufacturer, count(distinct f.dest) from flights f, planes p where f.tailnum = p.tailnum group by 1
select f.origin, avg(w.temp), count(*) from flights f join weather w on f.origin = w.origin and f.year = w.year and f.month = w.month and f.day = w.day and f.hour = w.hour group by f.origin
select count(*) from flights f where f.arr_delay > (select avg(g.arr_delay) * 10 from flights g where g.carrier = f.carrier)
select extract(hour from time_hour) h, count(*) from flights group by h order by h
select dest, max(arr_delay) from flights where arr_delay is not null group by dest order by 2 desc, 1 limit 5
select distinct origin, dest from flights where dest like 'S%'
select origin, carrier, month, count(*), avg(arr_delay), sum(distance), max(tailnum), stddev_pop(dep_delay) from flights group by cube(origin, carrier, month)
select origin, dest, count(distinct carrier), median(arr_delay), grouping(origin, dest) from flights group by rollup(origin, dest) having count(*) > 500
select count(*), sum(r), max(d) from (select rank() over (partition by carrier, month order by arr_delay) r, dense_rank() over (order by distance) d from flights) t
select carrier, dest, c from (select carrier, dest, count(*) c, row_number() over (partition by carrier order by count(*) desc, dest) r from flights group by carrier, dest) t where r <= 3
select origin, arr_delay, sum(n) from (select origin, arr_delay, 1 n, rank() over (partition by origin, month order by arr_delay desc nulls last) r from flights) t where r <= 5 group by 1, 2
select distinct on (tailnum) tailnum, time_hour, flight from flights where tailnum like 'N1%' order by tailnum, time_hour, flight
select count(*), sum(distance) from (select tailnum, distance from flights except all select tailnum, distance from flights where month < 6) t
select count(*), sum(distance) from (select tailnum, distance from flights where month > 3 intersect all select tailnum, distance from flights where month < 6) t
""".strip().splitlines()

# Statement, and what the message must hold.
REFUSED = [
    ("select foo from o", "SQL, byte 8: no column 'foo'"),
    ("select id from nowhere", "SQL, byte 16: no table 'nowhere'"),
    ("select o.id, k from o, p join n on true", "byte 14: column 'k' is ambiguous"),
    ("select id, sum(amount) from o", "byte 8: column 'id' must be in GROUP BY"),
    ("select * from o group by city", "byte 8: column 'id' must be in GROUP BY"),
    ("select id from o where sum(amount) > 1", "byte 24: the aggregate sum() is not allowed here"),
    ("select grouping(city) from o group by rollup(id)", "byte 17: an argument of grouping() must be a key"),
    ("select grouping(city) from o", "byte 8: grouping() takes 1 to 32 keys"),
    ("select city from o group by rollup(sum(id))", "byte 36: an aggregate in GROUP BY"),
    ("select id, lag(id) over (order by id) from o", "byte 12: the window function lag() is not implemented yet"),
    ("select sum(id) over (order by id) from o", "byte 8: the window function sum() is not implemented yet"),
    ("select id from o where rank() over (order by id) < 2", "byte 24: window functions are allowed in the select list"),
    ("select rank() over (order by rank() over (order by id)) from o", "byte 30: window functions are allowed"),
    ("select rank() over (order by id rows 2 preceding) from o", "byte 8: rank() OVER a frame"),
    ("select rank() over w from o", "byte 20: there is no window called 'w'"),
    ("select rank() over (w order by id) from o window w as (order by id)", "byte 20: a window cannot override"),
    ("select rank(id) over (order by id) from o", "byte 8: rank() takes no arguments"),
    ("select rank() over (order by nope) from o", "byte 30: no column 'nope'"),
    ("select city, rank() over (order by id) from o group by city", "byte 36: column 'id' must be in GROUP BY"),
    ("with recursive t as (select 1) select * from t", "WITH RECURSIVE"),
    ("select id from o order by 3", "byte 27: ORDER BY: there is no column 3"),
    ("select id from o limit -1", "LIMIT"),
    ("selec id", "byte 1: syntax error"),
    ("select id from o; select 1", "one statement"),
    ("insert into o values (1)", "only SELECT is run"),
    ("select (select id, city from o)", "byte 8: a subquery used as a value has 2 columns"),
    ("select x.id from o x, p x", "two inputs called 'x'"),
    ("select z.id from o", "no table in FROM is called 'z'"),
    ("select id + 'a' from o", "the text 'a' stands beside int64"),
    ("select o.id from o right join lateral (select o.id) t on true", "a LATERAL subquery cannot be on the side"),
    ("select o.id from o, lateral (select x.id) t", "byte 37: no table in FROM is called 'x'"),
    ("select id from o where id in (select v from n where row_number() over () = o.id)", "window functions are allowed in"),
    ("select id from o fetch first 2 rows with ties", "WITH TIES cannot be specified without ORDER BY"),
    ("select o.id from o left join p on o.id in (select k from n)", "byte 40: a subquery in ON of an outer join"),
    ("select string_agg(city, city) from o", "byte 25: string_agg() takes a constant separator"),
    ("select quantile_cont(amount, 2) from o", "the fraction must be a number from 0 to 1"),
    ("select median(city) from o", "quantile_cont of utf8"),
    ("select sum(distinct *) from o", "byte"),
    ("select city, regr_slope(id, amount) from o group by city", "byte 14: the aggregate regr_slope() is not implemented"),
    ("select interval '1 month' from o", "byte 17: an interval is only"),
    ("select date '2020-13-01' from o", "byte 13: '2020-13-01' is not a date32"),
    ("select id from o where city ~ 'a('", "missing closing parenthesis at byte 3"),
    ("select id from o where city ~ city", "the pattern must be a literal"),
    ("select (id, city) = (1, 2, 3) from o", "byte 19: a row is compared with a row of as many values"),
    ("select id from o join p using (nope)", "USING: column 'nope' is missing"),
    ("select cast(city as varchar(2)) from o", "byte 21: a length or precision"),
    ("select cast(amount as decimal) from o", "numeric(38, 6)"),
    ("select (select max(id) from p) > any (select k from n) from o", "byte 32: a subquery or a row compared with ANY or ALL"),
    ("select 1 union select 1, 2", "1 and 2 columns"),
    ("select * from o tablesample system (10)", "byte"),
]

# Statements that fail when they run: byte, exit code, what the message must hold.
FAILED = [
    ("select (select id from o)", 8, 1, r"a subquery used as a value gives 5 rows; at most 1"),
    ("select id, (select v from n where n.k = o.id) from o", 12, 1, r"a subquery used as a value gives 2 rows"),
    ("select id, (select v from n where n.k >= o.id) from o", 12, 1, r"a subquery used as a value gives \d rows"),
    ("select cast(city as int64) from o", 8, 6, r"cast from utf8 to int64: '[A-Za-z]+' is not a int64"),
    ("select id + 9223372036854775807 from o", 11, 1, r"add: \d \+ 9223372036854775807 does not fit int64"),
    ("select day + id * interval '100000000 years' from o", 12, 1, r"add_months: \d200000000 from [0-9-]+ does not fit date32"),
    ("select 1 / (id - 2) from o", 10, 1, r"divide: 1 / 0: division by zero \(column id\)"),
]


def value(x):
    """Numbers as floats or exact integers, days as dates: what a comparison should not see is gone."""
    if isinstance(x, decimal.Decimal):
        return int(x) if x == x.to_integral_value() else float(x)
    if isinstance(x, float) and x.is_integer() and abs(x) < 2**53:
        return int(x)
    if isinstance(x, datetime.datetime):
        x = x.replace(tzinfo=None)
        return x.date() if x.time() == datetime.time(0) else x
    return x


def order_key(row):
    return [(x is not None, type(x).__name__ if not isinstance(x, (int, float)) else "", round(x, 6) if isinstance(x, float)
             else x) if x is not None else (False, "", 0) for x in row]


def close(a, b):
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or math.isclose(a, b, rel_tol=2e-6, abs_tol=1e-9) if isinstance(a, float) or isinstance(b, float) \
            else a == b
    return a == b


class Sql(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.duck = duckdb.connect(config={"threads": 2})
        cls.duck.execute("set timezone = 'UTC'")
        cls.duck.execute("set default_null_order = 'nulls_last_on_asc_first_on_desc'")  # PostgreSQL's
        cls.small = []
        for name, text in FILES.items():
            (cls.root / f"{name}.csv").write_text(text)
            cls.small += ["--table", f"{name}={cls.root}/{name}.csv"]
            cls.duck.execute(f"create table {name} as from read_csv('{cls.root}/{name}.csv', header=true, delim=',',"
                             f" columns={DUCK_TYPES[name]})")
        for types in TYPES:
            cls.small += ["--types", types]
        cls.flights = ["--null", "NA"]
        for path in sorted(FLIGHTS.glob("*.csv.zst")):
            name = path.name.split(".")[0]
            cls.flights += ["--table", f"{name}={path}"]
            cls.duck.execute(f"create table {name} as from read_csv('{path}', nullstr='NA')")
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith("MORSEL")}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def morsel(self, *arguments, code=0, stdin=None):
        done = subprocess.run([MORSEL, "sql", *arguments], capture_output=True, env=self.env, timeout=120 * SLOW,
                              input=stdin)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr.decode()}")
        return done.stdout, done.stderr.decode()

    def rows(self, *arguments):
        out, _ = self.morsel(*arguments, "-o", "arrow")
        table = pyarrow.ipc.open_stream(out).read_all()
        return [tuple(value(x) for x in row) for row in zip(*(column.to_pylist() for column in table.columns))] \
            if table.num_columns else []

    def expect(self, statement, tables, other=None, extra=()):
        got = self.rows(*([] if "-f" in tables else [statement]), *tables, *extra)
        want = [tuple(value(x) for x in row) for row in self.duck.execute(other or statement).fetchall()]
        if not re.search(r"order by [^()]*$", statement):
            got, want = sorted(got, key=order_key), sorted(want, key=order_key)
        self.assertEqual(len(got), len(want), f"{got} is not {want}")
        for mine, theirs in zip(got, want):
            self.assertTrue(len(mine) == len(theirs) and all(close(a, b) for a, b in zip(mine, theirs)),
                            f"{mine} is not {theirs}")

    def test_same_as_duckdb(self):
        more = [line for path in sorted((ROOT / "tests/client/same").glob("*.sql"))
                for line in path.read_text().splitlines() if line and not line.startswith("--")]
        self.assertGreater(len(more), 50)
        for line in SAME + more:
            statement, other = (re.split(r"(?<!\|)\|(?!\|)(?![^']*'(?:[^']*'[^']*')*[^']*$)", line) + [""])[:2]
            with self.subTest(statement):
                self.expect(statement, self.small, other or None)

    def test_flights(self):
        for statement in ON_FLIGHTS:
            with self.subTest(statement):
                self.expect(statement, self.flights)
        for path in sorted((ROOT / "examples").glob("*.sql")):
            with self.subTest(path.name):
                text = path.read_text().rstrip().rstrip(";")
                self.expect(text, ["-f", str(path), *self.flights])
                out, _ = self.morsel("-f", str(path), *self.flights)
                self.assertEqual(len(out.splitlines()), 1 + len(self.duck.execute(text).fetchall()))

    def test_refused_with_a_place(self):
        for statement, wanted in REFUSED:
            with self.subTest(statement):
                _, err = self.morsel(statement, *self.small, code=2)
                self.assertIn(wanted, err)

    def test_fails_with_a_place(self):
        for statement, byte, code, wanted in FAILED:
            with self.subTest(statement):
                message, text, caret = self.morsel(statement, *self.small, code=code)[1].splitlines()
                self.assertRegex(message, wanted)
                self.assertEqual(caret.index("^") - text.index(statement) + 1, byte)

    def test_examples_of_the_document(self):
        examples = re.findall(r"```sql\n(.*)\n-- (.*)\n```", (ROOT / "docs/semantics.md").read_text())
        self.assertGreater(len(examples), 40)
        for statement, wanted in examples:
            with self.subTest(statement):
                done = subprocess.run([MORSEL, "sql", statement, "--null-out", "NULL"], capture_output=True, text=True,
                                      env=self.env, timeout=60 * SLOW)
                if wanted.startswith("error: "):
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(wanted[len("error: "):], done.stderr)
                else:
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(";".join(done.stdout.splitlines()[1:]), wanted)

    def test_options(self):
        out, _ = self.morsel("select city, amount from o order by id", *self.small, "--null-out", "NULL")
        self.assertEqual(out.decode(), "city,amount\nRome,1.5\nOslo,2.5\nRome,NULL\nNULL,7\nOslo,-1\n")
        out, _ = self.morsel("-f", "-", *self.small, stdin=b"select 1 as one;\n-- the end\n")
        self.assertEqual(out, b"one\n1\n")
        out, _ = self.morsel("select id from o where id > 2 order by id", *self.small, "--explain")
        self.assertIn(b"filter", out)
        plan = self.root / "plan.json"
        statement = "select id, d.x, (select max(v) from n where k = id) from o, (values (1), (null)) d(x) order by id, x"
        self.morsel(statement, *self.small, "--emit-plan", "--out", str(plan))
        again = subprocess.run([MORSEL, "run", plan, "-o", "csv"], capture_output=True, env=self.env, timeout=60 * SLOW)
        self.assertEqual((again.returncode, again.stdout), (0, self.morsel(statement, *self.small)[0]))
        text = (self.root / "o.csv").read_bytes()
        for packed in (text, gzip.compress(text)):
            out, _ = self.morsel("select city, count(*) from t group by 1 order by 2 desc, 1 limit 1", "--table", "t=-",
                                 stdin=packed)
            self.assertEqual(out, b"city,count\nOslo,2\n")
        out, _ = self.morsel("select column1 from t", "--table", "t=-", "--csv", "t=format:tsv|header:false", stdin=b"1\t2\n")
        self.assertEqual(out, b"column1\n2\n")
        plain = "select sum(x) as s, avg(x) as a, sum(distinct x) as d from (values (1e16), (1e0), (-1e16)) t(x)"
        out, _ = self.morsel(plain, "--set", "float_sum=plain")
        self.assertEqual(out, b"s,a,d\n0,0,1\n")  # as they come, each step rounded; kept values are added exactly
        out, _ = self.morsel(plain.replace(", avg(x) as a", ""), "--set", "float_sum=exact")
        self.assertEqual(out, b"s,d\n1,1\n")
        self.assertIn("given twice", self.morsel("select 1", "--table", "a=-", "--table", "b=-", code=2, stdin=b"x\n1\n")[1])
        self.assertIn("stdin holds one", self.morsel("-f", "-", "--table", "b=-", code=2, stdin=b"select 1")[1])
        self.assertIn("cannot name stdin", self.morsel("select 1", "--table", "b=-", "--emit-plan", code=2, stdin=b"x\n")[1])
        self.assertIn("one statement", self.morsel(*self.small, code=2)[1])
        self.assertIn("name is given twice", self.morsel("select 1", "--table", "a=b", "--table", "a=c", code=2)[1])
        self.assertIn("needs --server", self.morsel("select 1", "--table", "a=server:b", code=2)[1])
        self.assertIn("no input is called 'q'", self.morsel("select 1", *self.small, "--types", "q=a:int64", code=2)[1])

    def test_server(self):
        (self.root / "log").touch()
        ports = self.root / "ports"
        with open(self.root / "log", "w") as log:
            daemon = subprocess.Popen([MORSELD, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--port-file",
                                       ports, "--data-root", self.root], stderr=log)
        try:
            deadline = time.monotonic() + 30 * SLOW
            while not ports.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            server = ["--server", "127.0.0.1:" + ports.read_text().split()[0]]
            for line in SAME[::9]:
                if "|" not in line:
                    with self.subTest(line):
                        self.expect(line, self.small, extra=server)
            below = ["--table", "o=server:o.csv", "--types", "o=day:date32;amount:float64", *server]
            self.expect("select city, sum(amount) from o group by city order by 1", below)
            plain = "select sum(x) as s from (values (1e16), (1e0), (-1e16)) t(x)"
            for way, total in (("plain", b"0"), ("exact", b"1")):
                self.assertEqual(self.morsel(plain, "--set", "float_sum=" + way, *server)[0], b"s\n" + total + b"\n")
            zoned = "select extract(hour from cast(timestamptz '2024-07-01 12:00Z' as \"timestamp[us,Europe/Berlin]\"))"
            self.assertEqual(self.rows(zoned, *server), [(14,)])
            self.assertIn("byte 8", self.morsel("select nope from o", *self.small, *server, code=2)[1])
            done = subprocess.run([MORSEL, "upload", "kept", self.root / "o.csv", *server], env=self.env)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(self.rows("select count(*) from kept", *server), [(5,)])
            # What was uploaded for a statement is gone, whether it ran or not.
            left = subprocess.run([MORSEL, "tables", "-o", "csv", *server], capture_output=True, text=True, env=self.env)
            self.assertNotIn("sql-", left.stdout)
            self.assertIn("kept", left.stdout)
        finally:
            daemon.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.wait(60 * SLOW), 0)


if __name__ == "__main__":
    unittest.main()
