UPDATE server SET epoch = epoch + 1 RETURNING epoch
