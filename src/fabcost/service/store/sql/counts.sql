-- The counts that people look at.

-- name: add_counts
INSERT INTO counts
    (model, start, arm, decisions, impressions, clicks, log_loss, entropy, predicted, rewards, income)
SELECT
    model, start, arm, SUM(decisions), SUM(impressions), SUM(clicks), SUM(log_loss), SUM(entropy),
    SUM(predicted), SUM(rewards), SUM(income)
FROM batch WHERE TRUE GROUP BY model, start, arm
ON CONFLICT (model, start, arm) DO UPDATE SET
    decisions = counts.decisions + excluded.decisions,
    impressions = counts.impressions + excluded.impressions,
    clicks = counts.clicks + excluded.clicks,
    log_loss = counts.log_loss + excluded.log_loss,
    entropy = counts.entropy + excluded.entropy,
    predicted = counts.predicted + excluded.predicted,
    rewards = counts.rewards + excluded.rewards,
    income = counts.income + excluded.income

-- name: add_calibration
INSERT INTO calibration (model, bin, impressions, predicted, clicks, rewards)
SELECT model, bin, SUM(impressions), SUM(predicted), SUM(clicks), SUM(rewards)
FROM batch WHERE TRUE GROUP BY model, bin
ON CONFLICT (model, bin) DO UPDATE SET
    impressions = calibration.impressions + excluded.impressions,
    predicted = calibration.predicted + excluded.predicted,
    clicks = calibration.clicks + excluded.clicks,
    rewards = calibration.rewards + excluded.rewards

-- name: add_tallies
INSERT INTO tallies (model, item, decisions, impressions, clicks, rewards, income)
SELECT model, item, SUM(decisions), SUM(impressions), SUM(clicks), SUM(rewards), SUM(income)
FROM batch WHERE TRUE GROUP BY model, item
ON CONFLICT (model, item) DO UPDATE SET
    decisions = tallies.decisions + excluded.decisions,
    impressions = tallies.impressions + excluded.impressions,
    clicks = tallies.clicks + excluded.clicks,
    rewards = tallies.rewards + excluded.rewards,
    income = tallies.income + excluded.income

-- name: counts
SELECT
    model, start, arm, decisions, impressions, clicks, log_loss, entropy, predicted, rewards, income
FROM counts
WHERE model = :model AND start >= :since
ORDER BY start, arm

-- name: calibration
SELECT model, bin, impressions, predicted, clicks, rewards
FROM calibration
WHERE model = :model
ORDER BY bin

-- name: tallies
SELECT model, item, decisions, impressions, clicks, rewards, income
FROM tallies
WHERE model = :model
ORDER BY decisions DESC, item
LIMIT :limit

-- name: forget_counts
DELETE FROM counts WHERE model = :model AND start < :before
