UPDATE server SET epoch = epoch + 1, stamp = :stamp RETURNING epoch
