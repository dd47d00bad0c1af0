UPDATE server SET latest = :moment
