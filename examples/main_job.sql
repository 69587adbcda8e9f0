-- What examples/main_job.json says, for SQLite and for readers.
SELECT al.name AS carrier_name, count(*) AS flights, avg(f.arr_delay) AS mean_delay, max(f.arr_delay) AS max_delay
FROM flights f
JOIN airlines al ON f.carrier = al.carrier
JOIN airports ap ON f.dest = ap.faa
WHERE f.distance >= 500 AND f.arr_delay IS NOT NULL
GROUP BY al.name
ORDER BY flights DESC, carrier_name ASC
LIMIT 10;
