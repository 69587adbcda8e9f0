-- What examples/planes_by_origin.json says: a group-by with two keys over a join with planes.
SELECT f.origin, p.manufacturer, count(*) AS flights, sum(p.seats) AS seats, sum(f.distance) AS miles,
       avg(f.air_time) AS mean_air_time, count(f.air_time) AS flown
FROM flights f
JOIN planes p ON f.tailnum = p.tailnum
GROUP BY f.origin, p.manufacturer
ORDER BY flights DESC, f.origin ASC, p.manufacturer ASC
LIMIT 15;
