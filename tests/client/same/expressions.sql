-- Statements, one a line, run by sql_test.py; what follows a '|' is DuckDB's way to say it.
-- lists and ranges
select id, city = null, null = 1, 1 = null, amount + null, null is null from o
select id from o where city in ('Rome', null) or id in (null, 4)
select id from o where id not in (7, null)
select id, id between symmetric 4 and 2, id not between symmetric 4 and 2 from o|select id, id between 2 and 4, id not between 2 and 4 from o
select id from o where amount between null and 3
select id from o where (id, city) = (1, 'Rome') or (id, city) <> (id, city)
select id, (id, amount) < (3, 2.0), (id, amount) >= (2, 2.5) from o where amount is not null
select a, b from w where (a, b) in ((1, 2), (2, 2), (3, null))|select a, b from w where (a = 1 and b = 2) or (a = 2 and b = 2)
select a, b from w where (a, b) is not distinct from (3, null)|select a, b from w where a is not distinct from 3 and b is not distinct from null
select id, case (id, city) when (1, 'Rome') then 'one' else 'other' end from o|select id, case when id = 1 and city = 'Rome' then 'one' else 'other' end from o
select id, case when id > 2 then null when id = 1 then amount end, case id when 1 then null else null end from o
select id, coalesce(null, amount, 0), coalesce(null, null), greatest(null, id), least(id, amount, null) from o
select id, nullif(id, 2), nullif(null, 1), nullif(city, null) from o
select id from o where null or id = 3
select id, null and id > 2, not null from o
select id from o where id = 1 or id = 2 or id = 3 or id = 4 or id = 5 or id = 6 or id = 7 or id = 8 or id = 9 or id = 10 or id = 11 or id = 12 or id = 13 or id = 14 or id = 15 or id = 16 or id = 17 or id = 18 or id = 19 or id = 20 or id = 21 or id = 22 or id = 23 or id = 24 or id = 25 or id = 26 or id = 27 or id = 28 or id = 29 or id = 30 or id = 31 or id = 32 or id = 33 or id = 34 or id = 35 or id = 36 or id = 37 or id = 38 or id = 39 or id = 40 or id = 41 or id = 42 or id = 43 or id = 44 or id = 45 or id = 46 or id = 47 or id = 48 or id = 49 or id = 50 or id = 51 or id = 52 or id = 53 or id = 54 or id = 55 or id = 56 or id = 57 or id = 58 or id = 59 or id = 60 or id = 61 or id = 62 or id = 63 or id = 64 or id = 65 or id = 66
select greatest(id, null, amount, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20), least(amount, id, null, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 10, 11, 12, 13, 14), greatest(null, amount) from o
-- patterns
select id, city like 'R#_m%' escape '#', city like 'R_m%', city not like '%o' escape '', city ilike '%O_E' from o
select 'a%b' like 'a#%b' escape '#', 'axb' like 'a#%b' escape '#', 'a\b' like 'a\b' escape '', 'A%' ilike 'a!%' escape '!'
select city, city like city, city like substring(city, 1, 1) || '%' from o
select city, city similar to '(R|O)%', city not similar to '_ome' from o|select city, city similar to '(R|O).*', city not similar to '.ome' from o
select city, city ~ 'o', city ~* '^o', city !~ 'R.m', city !~* 'r' from o|select city, regexp_matches(city, 'o'), regexp_matches(city, '^o', 'i'), not regexp_matches(city, 'R.m'), not regexp_matches(city, 'r', 'i') from o
select city, regexp_matches(city, '^[A-Z][a-z]{3}$'), regexp_full_match(city, 'R\w+'), regexp_matches(name, ',\s') from o, p
select city, regexp_matches(city, 'x|o$'), regexp_matches(city, ''), regexp_matches(city, '\d'), regexp_matches('ä', '^.$') from o
select city, starts_with(city, 'Ro'), city ^@ 'Os', ends_with(city, 'me'), contains(city, 'm') from o|select city, starts_with(city, 'Ro'), city ^@ 'Os', suffix(city, 'me'), contains(city, 'm') from o
-- strings
select upper('straße äöü ω я ǆ'), lower('STRASSE ÄÖÜ Ω Я Ǆ İ'), length('äöü€😀'), upper(city), lower(city) from o|select upper('straße äöü ω я ǆ'), lower('STRASSE ÄÖÜ Ω Я Ǆ İ'), length('äöü€😀'), upper(city), lower(city) from o
select trim('  x '), ltrim('  x '), rtrim('  x ') || '|', trim(both 'xy' from 'xyaxy'), trim(leading 'x' from 'xxa'), trim(trailing from 'a ')|| '|', btrim('--a-', '-')|select trim('  x '), ltrim('  x '), rtrim('  x ') || '|', trim(both 'xy' from 'xyaxy'), trim(leading 'x' from 'xxa'), trim(trailing from 'a ') || '|', trim('--a-', '-')
select city, substring(city, 2), substring(city, 2, 2), substring(city from 3), substring(city from 2 for 1), substr(city, 1, 2) from o
select city || '-' || id, id || city, concat(city, 1, null, id, day), concat('a', 'b') from o
select city, replace(city, 'o', '00'), replace(city, '', 'x'), replace(city, 'Rome', '') from o
select city, position('o' in city), strpos(city, 'me'), position('' in city), instr(city, 'z') from o
select city, length(city), char_length(city) from o
-- numbers
select amount, round(amount), round(amount, 0), round(amount / 3, 2), floor(amount), ceil(amount), ceiling(amount), trunc(amount) from o
select round(2.5), round(-2.5), round(1.2345, 2), round(1234, -2), round(1250, -2), round(99.99, 1), round(0.5::double)
select id, sign(amount), sign(-id), abs(-amount), mod(id, 2), id % 2, power(id, 2), pow(amount, 2), id ^ 2 from o|select id, sign(amount), sign(-id), abs(-amount), mod(id, 2), id % 2, power(id, 2), pow(amount, 2), id ** 2 from o
select sqrt(id), ln(id), log10(id), log(id), log2(id), exp(id), greatest(id, 2.5), least(amount, 2, id) from o
select 1.10 * 1.10 * 1.10, 0.1 + 0.2 - 0.3, 1.5 % 0.4, -7 % 3, 7.5 - 2
select sum(cast(amount as decimal(10, 2)) * (1 - 0.05) * (1 + 0.08) * 1.001) from o
select cast(1 as decimal(38, 12)) * cast(2.5 as decimal(38, 12)) | select 2.5
select id + '1', amount - '1.5' from o
-- dates and timestamps
select day, extract(year from day), extract(quarter from day), extract(month from day), extract(week from day), extract(isoyear from day), extract(day from day), extract(dow from day), extract(isodow from day), extract(doy from day) from o
select day, date_part('year', day), year(day), month(day), quarter(day), week(day), dayofweek(day), dayofyear(day) from o
select extract(hour from t), extract(minute from t), extract(second from t), extract(milliseconds from t), extract(microseconds from t), extract(epoch from t) from (values (timestamp '2020-02-29 23:59:58.123456'), (timestamp '1969-12-31 00:00:00.5')) v(t)
select extract(epoch from day) from o
select date_trunc('year', t), date_trunc('quarter', t), date_trunc('month', t), date_trunc('week', t), date_trunc('day', t), date_trunc('hour', t), date_trunc('minute', t), date_trunc('second', t), date_trunc('milliseconds', t), date_trunc('microseconds', t) from (values (timestamp '2020-02-29 23:59:58.123456'), (timestamp '1969-12-31 00:00:00.5')) v(t)
select day, day + interval '1 month', day - interval '1 month', day + interval '1 year', day + interval '3 days', day - interval '2 weeks', day + interval '1' year from o
select day + interval '1 hour', day - interval '90 minutes', day + interval '1 day 02:03:04.5', day + interval '-1 days', interval '1 year 2 months 3 days' + day from o
select t + interval '1 month', t - interval '13 months', t + interval '1.5 hours', t + interval '1' second, t - interval '250 milliseconds' from (values (timestamp '2020-01-31 23:59:58.123456'), (timestamp '1969-12-31 00:00:00.5')) v(t)
select id, day + interval '1 day' * id, day - id * interval '1 month', day + (interval '1 month' + interval '1 day') from o
select id, day + interval '1 month' - interval '1 day', (day + interval '1 month') - day from o where id < 3 | select id, day + interval '1 month' - interval '1 day', date_diff('day', day, (day + interval '1 month')::date) from o where id < 3
select day - date '2020-01-01', date '2020-03-01' - date '2020-02-01' from o
select x.day from o x, o y where x.day - y.day > 300 and y.id = 1
select a.t from (values (timestamp '2020-01-31 10:00:00'), (timestamp '2020-01-31 12:00:00')) a(t) where a.t - timestamp '2020-01-31 09:30:00' > interval '1 hour'
select a.t from (values (timestamp '2020-01-31 10:00:00'), (timestamp '2020-01-31 12:00:00')) a(t) where interval '2 hours' > a.t - timestamp '2020-01-31 09:30:00'
select extract(epoch from t - timestamp '2020-01-31 09:30:00') from (values (timestamp '2020-01-31 10:00:00'), (timestamp '2020-01-31 12:00:00.25')) a(t)
select date_diff('month', day, date '2021-01-01'), date_diff('day', day, date '2021-01-01'), datediff('year', day, date '2021-01-01'), date_diff('hour', day, timestamp '2021-01-01 05:00:00') from o
select id from o where day between '2020-01-01' and '2020-12-31'
select id from o where date '2020-01-01' + interval '1 month' > day and '2019-01-01' < day
select id, coalesce(day, '2000-01-01'), case when id = 1 then '1999-12-31' else day end, greatest(day, '2020-02-01') from o|select id, coalesce(day, date '2000-01-01'), case when id = 1 then date '1999-12-31' else day end, greatest(day, date '2020-02-01') from o
-- casts
select cast('12' as int64), cast('1.25' as decimal(10, 1)), cast('true' as bool), cast('1e3' as float64), '2020-01-31'::date + 1, timestamp '2020-01-31 10:00:00'::date|select cast('12' as bigint), 1.3, true, 1000, '2020-01-31'::date + 1, timestamp '2020-01-31 10:00:00'::date
select cast(id as int8), cast(id as uint16), cast(amount as decimal(10, 1)), cast(amount as float32), cast(id as bool), cast(day as timestamp), cast(day as text), cast(amount > 1 as int32), cast(amount > 1 as text) from o|select cast(id as tinyint), cast(id as usmallint), cast(amount as decimal(10, 1)), cast(amount as float), cast(id as bool), cast(day as timestamp), cast(day as text), cast(amount > 1 as integer), cast(amount > 1 as text) from o
select id, try_cast(city as int64), try_cast(id || '' as tinyint), try_cast('300' as tinyint), TRY_CAST ( 'try_cast(' as tinyint), try_cast(city || '' as date) from o|select id, null, id, null, null, null from o
select corr(distinct x, y), corr(x, y), covar_pop(distinct x, y), covar_samp(distinct x, y) filter (where x > 1) from (values (1, 2), (1, 2), (2, 5), (3, 1), (null, 1), (3, null)) t(x, y)
select y, covar_pop(distinct x, x * x), count(distinct x) from (values (1, 1), (1, 1), (2, 1), (7, 1), (3, 2), (null, 3)) t(x, y) group by y order by y
