INSERT INTO tallies (model, item, decisions, impressions, clicks)
SELECT model, item, SUM(decisions), SUM(impressions), SUM(clicks)
FROM batch WHERE TRUE GROUP BY model, item
ON CONFLICT (model, item) DO UPDATE SET
    decisions = tallies.decisions + excluded.decisions,
    impressions = tallies.impressions + excluded.impressions,
    clicks = tallies.clicks + excluded.clicks
