INSERT INTO calibration (model, bin, impressions, predicted, clicks)
SELECT model, bin, SUM(impressions), SUM(predicted), SUM(clicks)
FROM batch WHERE TRUE GROUP BY model, bin
ON CONFLICT (model, bin) DO UPDATE SET
    impressions = calibration.impressions + excluded.impressions,
    predicted = calibration.predicted + excluded.predicted,
    clicks = calibration.clicks + excluded.clicks
