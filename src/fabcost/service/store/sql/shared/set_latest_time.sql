UPDATE server SET latest = :time WHERE latest < :time
