SELECT b.title, count(*) AS loans, avg(l.days * (1 + l.late)) AS mean_days FROM books b LEFT JOIN loans l ON l.book = b.id AND l.state <> 'lost'
WHERE b.language IN ('nl', 'fr', 'de') AND (b.year BETWEEN 1990 AND 2020 OR b.title LIKE 'L''%') AND NOT b.shelf IS NULL
GROUP BY b.title, b.year ORDER BY loans DESC, b.title LIMIT 25;