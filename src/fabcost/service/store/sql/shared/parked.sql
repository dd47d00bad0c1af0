SELECT model, decision FROM feedback WHERE status = 'parked'
