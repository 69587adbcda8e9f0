-- What examples/left_join_unmatched.json says: destinations that the airport list does not know come first.
SELECT f.dest, ap.name AS airport, count(*) AS flights
FROM flights f
LEFT JOIN airports ap ON f.dest = ap.faa
GROUP BY f.dest, ap.name
ORDER BY airport ASC NULLS FIRST, flights DESC, f.dest ASC
LIMIT 12;
