SELECT MAX(written.latest) FROM (
    SELECT latest FROM server
    UNION ALL
    SELECT COALESCE(MAX(made), 0.0) FROM decisions WHERE seq > (SELECT counted FROM server)
) AS written
