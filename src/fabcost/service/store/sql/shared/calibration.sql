SELECT model, bin, impressions, predicted, clicks FROM calibration WHERE model = :model ORDER BY bin
